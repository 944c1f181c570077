// Which machine this is.
#pragma once

#include <string>

#include "engine/base/types.h"

namespace leanstream::probe {

struct Machine {
  std::string processor;  // "AMD EPYC, 2 processors, 32 MiB of last-level cache"
  std::string disk;       // "disk vda", with its model where the system tells
  std::string kernel;     // "Linux 6.1.0"
  std::int32_t processors = 0;
  Bytes memory_bytes = 0;
  Bytes merge_bytes = 0;  // up to which the system makes neighbouring reads one request

  std::string text() const;
};

// `path`: a file or folder on the disk, or a block device. What cannot be found out is "unknown".
Machine this_machine(const std::string& path);

}  // namespace leanstream::probe
