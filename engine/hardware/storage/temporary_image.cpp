#include "engine/hardware/storage/temporary_image.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"

namespace leanstream::hardware {
namespace {

constexpr Bytes kMib = Bytes{1} << 20;

}  // namespace

TemporaryImage::TemporaryImage(Bytes mib)
    : name_(fmt::format("leanstream-storage-{}.image", ::getpid())), path_(name_) {
  std::ofstream out(name_, std::ios::binary);
  std::vector<std::uint64_t> words(kMib / sizeof(std::uint64_t));
  for (Bytes i = 0; i < mib; ++i) {
    for (std::size_t w = 0; w < words.size(); ++w) words[w] = mix(i, w);
    out.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(kMib));
  }
  out.close();
  fd_ = out ? ::open(name_.c_str(), O_RDONLY) : -1;
  if (fd_ >= 0 && ::fsync(fd_) == 0) {
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return;
  }
  remove();
  throw UserError("{} of {} MiB cannot be written here; make room, or name a file (--file)", path_,
                  mib);
}

TemporaryImage::~TemporaryImage() {
  remove();
}

void TemporaryImage::unname() {
  std::error_code ignored;
  std::filesystem::remove(name_, ignored);
  name_.clear();
  path_ = fmt::format("/proc/self/fd/{}", fd_);
}

void TemporaryImage::remove() {
  std::error_code ignored;
  if (!name_.empty()) std::filesystem::remove(name_, ignored);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace leanstream::hardware
