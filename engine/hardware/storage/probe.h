// What storage can be had here: asked once, in one place, by doing it.
#pragma once

#include <string>

#include "engine/hardware/storage/image_file.h"

namespace leanstream::hardware {

// io_uring's answers; flags and opcodes are those of the kernel's interface, so that a build
// against an older liburing knows them too.
struct IoUringProbe {
  std::string why_not{};     // empty: it reads
  unsigned setup_flags = 0;  // the best that the kernel takes
  std::string setup_text{};  // their names
  bool readv_fixed = false;  // pieces within one registered buffer can be one request
};
inline constexpr unsigned kUringReadvFixed = 60;  // IORING_OP_READV_FIXED, Linux 6.15

IoUringProbe probe_io_uring(const ImageFile& file);

// Empty when Linux's native asynchronous reads work for the file, else why not.
std::string probe_libaio(const ImageFile& file);

// "Linux 6.1.0".
std::string kernel_text();

}  // namespace leanstream::hardware
