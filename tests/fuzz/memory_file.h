// Bytes as a file that has a path but is on no disk, for readers that open files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

#include "engine/base/check.h"

namespace leanstream::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : file_(::memfd_create("fuzz", 0)) {
    LEANSTREAM_CHECK(file_ >= 0, "no file in memory");
    const auto written = ::write(file_, bytes.data(), bytes.size());
    LEANSTREAM_CHECK(written == static_cast<::ssize_t>(bytes.size()), "{} bytes written", written);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace leanstream::fuzz
