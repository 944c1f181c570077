#include "engine/base/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "engine/base/error.h"
#include "engine/base/mapped_file.h"

namespace leanstream {
namespace {

constexpr std::size_t kCollectBytes = 1 << 20;
constexpr mode_t kMode = 0666;  // less the umask

std::string proc_name(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

// A file without a name vanishes with the process, however that ends. −1 where there are none.
int open_nameless([[maybe_unused]] const std::string& folder) {
#ifdef O_TMPFILE
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (fd >= 0 && ::access(proc_name(fd).c_str(), F_OK) == 0) return fd;
  if (fd >= 0) ::close(fd);  // it could not be given its name
#endif
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), partial_(fmt::format("{}.partial-{}", path_, ::getpid())) {
  const auto parent = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) throw UserError("{}: cannot create the folder: {}", path_, error.message());
  fd_ = open_nameless(parent.empty() ? "." : parent.string());
  if (fd_ >= 0) return;
  fd_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (fd_ < 0) fail("cannot write", errno);
  named_ = true;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (named_ && !committed_) ::unlink(partial_.c_str());
}

void AtomicFile::fail(const char* what, int error) const {
  throw UserError("{}: {}: {}", path_, what, std::strerror(error));
}

void AtomicFile::reserve(std::uint64_t bytes) {
  struct statvfs space {};
  const bool known = ::fstatvfs(fd_, &space) == 0 && space.f_blocks > 0;
  const std::uint64_t free = known ? std::uint64_t{space.f_bavail} * space.f_frsize : bytes;
  int error = bytes > free ? ENOSPC : 0;  // asked for, it might first take all there is
#ifdef FALLOC_FL_KEEP_SIZE
  while (error == 0 && ::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) break;
    if (errno != EINTR) error = errno;
  }
#endif
  if (error == 0) return;
  throw UserError("{}: cannot take room for {} bytes: {}{}", path_, bytes, std::strerror(error),
                  known ? fmt::format("; {} bytes are free there", free) : "");
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (collected_.size() + bytes.size() >= kCollectBytes) flush();
  if (bytes.size() >= kCollectBytes) {
    write_out(bytes);
  } else {
    collected_.insert(collected_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::seek(std::uint64_t offset_bytes) {
  flush();
  position_ = offset_bytes;
}

void AtomicFile::flush() {
  write_out(collected_);
  collected_.clear();
}

void AtomicFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(position_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", errno);
    position_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::settle() {
  flush();
  if (::fdatasync(fd_) != 0) fail("cannot write", errno);
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}

void AtomicFile::commit() {
  flush();
  if (!named_) {
    ::unlink(partial_.c_str());  // of a process that had this number and was killed
    if (::linkat(AT_FDCWD, proc_name(fd_).c_str(), AT_FDCWD, partial_.c_str(), AT_SYMLINK_FOLLOW) !=
        0) {
      fail("cannot write", errno);
    }
    named_ = true;
  }
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot write", errno);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail("cannot rename into place", errno);
  committed_ = true;
}

void check_writable(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    throw UserError("{}: is a folder; name a file", path);
  }
  auto folder = std::filesystem::absolute(path).parent_path();
  while (!std::filesystem::exists(folder, unknown) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  if (!std::filesystem::is_directory(folder, unknown)) {
    throw UserError("{}: {} is no folder", path, folder.string());
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw UserError("{}: cannot write: {}", path, std::strerror(errno));
  }
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace leanstream
