#include "engine/hardware/storage/image_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>
#include <utility>

#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/hardware/storage/aligned_memory.h"

namespace leanstream::hardware {
namespace {

constexpr Bytes kLeastAlignment = 512;
constexpr Bytes kMostAlignment = 65536;  // also what is read to find out

}  // namespace

ImageFile::ImageFile(const std::string& path) : path_(path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw UserError("{} cannot be opened: {}", path, std::strerror(errno));
  }
  const bool block_device = S_ISBLK(info.st_mode);
  if (!block_device && !S_ISREG(info.st_mode)) {
    throw UserError("{} is neither a file nor a block device: it cannot be a flash image", path);
  }
  fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (fd_ < 0) refuse_open(errno, block_device);
  size_bytes_ = static_cast<Bytes>(info.st_size);
  if (block_device) {
    std::uint64_t bytes = 0;
    size_bytes_ = ::ioctl(fd_, BLKGETSIZE64, &bytes) == 0 ? bytes : 0;
  }
  try {
    find_alignment(block_device);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

ImageFile::~ImageFile() {
  if (fd_ >= 0) ::close(fd_);
}

ImageFile::ImageFile(ImageFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_bytes_(other.size_bytes_),
      alignment_bytes_(other.alignment_bytes_),
      alignment_source_(std::move(other.alignment_source_)) {}

void ImageFile::refuse_open(int error, bool block_device) const {
  if (error == EINVAL) {
    throw UserError(
        "{} is on a file system without O_DIRECT, so its weights would stay in the page cache; put "
        "it on one that has it (ext4, xfs, f2fs, btrfs)",
        path_);
  }
  if (error == EACCES || error == EPERM) {
    throw UserError("{} is not readable: {}", path_,
                    block_device ? "add yourself to group disk or run as root"
                                 : "give yourself the right to read it (chmod u+r)");
  }
  throw UserError("{} cannot be opened: {}", path_, std::strerror(error));
}

void ImageFile::find_alignment(bool block_device) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (::statx(fd_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
      (info.stx_mask & STATX_DIOALIGN) != 0 && info.stx_dio_offset_align != 0) {
    alignment_bytes_ = std::max<Bytes>(info.stx_dio_offset_align, info.stx_dio_mem_align);
    alignment_source_ = "statx";
    return;
  }
#endif
  int sector_bytes = 0;
  if (block_device && ::ioctl(fd_, BLKSSZGET, &sector_bytes) == 0 && sector_bytes > 0) {
    alignment_bytes_ = static_cast<Bytes>(sector_bytes);
    alignment_source_ = "BLKSSZGET";
    return;
  }
  const auto buffer = aligned_memory(kMostAlignment, kMostAlignment);
  int error = 0;
  for (Bytes bytes = kLeastAlignment; bytes <= kMostAlignment; bytes *= 2) {
    // An address that is a multiple of no more than `bytes`.
    const auto at = bytes == kMostAlignment ? 0 : bytes;
    if (::pread(fd_, buffer.get() + at, bytes, 0) >= 0) {
      alignment_bytes_ = bytes;
      alignment_source_ = "trying";
      return;
    }
    error = errno;
  }
  throw UserError("{} cannot be read with O_DIRECT: {}", path_, std::strerror(error));
}

}  // namespace leanstream::hardware
