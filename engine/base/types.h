// The plain quantities that every folder shares. Units are in the names.
#pragma once

#include <cstdint>
#include <limits>

namespace leanstream {

using TimeNs = std::int64_t;  // nanoseconds since the start of a run
using Bytes = std::uint64_t;
using LayerId = std::int32_t;  // 0 … layers − 1
using BlockId = std::int32_t;  // 0 … blocks_per_layer − 1, in flash order
using SlotId = std::int32_t;   // 0 … slots − 1, a place for one block in the arena
using TokenId = std::int32_t;  // index of a token in a run (not a vocabulary id)
using StepId = std::int64_t;   // token · layers + layer: one MLP of one token
using TicketId = std::uint64_t;

inline constexpr TimeNs kNsPerSecond = 1'000'000'000;
inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
inline constexpr std::int32_t kNone = -1;

constexpr double seconds(TimeNs ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

}  // namespace leanstream
