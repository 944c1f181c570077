// What a command asks of the fabric, once its device's own formula has been applied.
#pragma once

#include "engine/base/types.h"

namespace leanstream::sim {

// Waits `delay_s`, then moves `bytes` at up to `bytes_per_s`; slower while others share the way.
// Without bytes it is a timer. Without bytes and delay it ends at once and never reaches SimGrid.
struct Flow {
  Bytes bytes = 0;
  double delay_s = 0;
  double bytes_per_s = 0;  // > 0 where there are bytes

  bool instant() const { return bytes == 0 && delay_s <= 0; }
  // How long it takes with the way to itself.
  double alone_s() const {
    return delay_s + (bytes == 0 ? 0.0 : static_cast<double>(bytes) / bytes_per_s);
  }
};

inline constexpr double kNsPerSecond = 1e9;
constexpr double seconds(TimeNs ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

}  // namespace leanstream::sim
