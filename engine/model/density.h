// How many of n a density keeps: one rule for neurons and blocks, here and in every trace.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace leanstream::model {

// round(density · of), at least 1 and at most `of`; 0 < density ≤ 1, of ≥ 1.
inline std::int32_t kept_count(double density, std::int32_t of) {
  return std::clamp(static_cast<std::int32_t>(std::lround(density * of)), 1, of);
}

}  // namespace leanstream::model
