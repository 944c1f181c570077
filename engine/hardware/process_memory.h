// What this process occupies, from when it is first asked.
#pragma once

#include "engine/base/types.h"

namespace leanstream::hardware {

class ProcessMemory {
 public:
  // From now on; the system's high-water mark begins anew.
  ProcessMemory();

  // Resident bytes beyond those at the beginning: now, and the most so far. Pages of mapped files
  // that were looked at are among them.
  Bytes growth_bytes() const;
  Bytes peak_growth_bytes() const;

 private:
  Bytes before_bytes_;
};

}  // namespace leanstream::hardware
