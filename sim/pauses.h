// When a flash device pauses: it answers nobody for a while, and goes on where it was. The cause is
// out of sight (others that use its host, or its own upkeep); it comes the more often the more the
// device works, so that the time between two pauses counts only while bytes move.
#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "engine/platform/platform.h"
#include "sim/flow.h"

namespace leanstream::sim {

// Pauses of `pause` each; between them an exponentially distributed time of transfers with mean
// `pause_every`, from the run's seed. With either 0 there are none.
class Pauses {
 public:
  Pauses(const platform::Flash& flash, std::uint64_t seed);

  bool now() const { return paused_; }
  // From now on bytes move, or do not.
  void set_moving(bool moving, double now_s);
  // When the pause ends, or the next begins if bytes go on moving.
  double next_s() const { return paused_ || moving_ ? next_s_ : kInfinity; }
  // Begins or ends a pause whose date has come.
  void advance(double now_s);

 private:
  double drawn_s();

  double pause_s_, every_s_;
  RandomStream random_;
  bool paused_ = false;
  bool moving_ = false;
  double left_s_;      // of transfers until the next pause, while none move
  double next_s_ = 0;  // while they move, or until the pause ends
};

}  // namespace leanstream::sim
