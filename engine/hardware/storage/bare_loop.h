// The least that random reads through io_uring can cost: the yardstick of `leanstream bench
// storage`. Registered buffer and file, one system call for handing over and waiting, nothing else.
#pragma once

#include <string>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::hardware {

struct LoopSpec {
  std::string path;
  Bytes read_bytes = 4096;  // each from a random multiple of it
  std::int32_t depth = 1;
  double seconds = 1;
  std::uint64_t seed = 0;
  bool apart = false;  // reader loop: the pieces of a request are requests of their own
};

struct LoopResult {
  std::int64_t reads = 0;
  double wall_s = 0;
  double cpu_s = 0;  // of the calling thread
  std::vector<TimeNs> latency_ns;
  std::vector<TimeNs> gap_ns;  // between the times at which answers were seen (reader loop)
};

// CPU time of the calling thread.
double thread_cpu_s();

// Throws UserError when this kernel or build has no io_uring, or a read fails.
LoopResult bare_io_uring_loop(const LoopSpec& spec);

}  // namespace leanstream::hardware
