// When a flash device pauses: it answers nobody for a while, and goes on where it was. The cause is
// out of sight (others that use its host, or its own upkeep); it comes the more often the more
// requests the device serves, of whatever size.
#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "engine/platform/platform.h"
#include "sim/flow.h"

namespace leanstream::sim {

// Pauses of `pause` each; between them an exponentially distributed number of requests with mean
// `pause_requests`, from the run's seed. With either 0 there are none.
class Pauses {
 public:
  Pauses(const platform::Flash& flash, std::uint64_t seed);

  bool any() const { return left_ < kInfinity; }
  bool now() const { return paused_; }
  // From now on so many requests are served.
  void set_pace(double requests_per_s, double now_s);
  // When the pause ends, or the next begins at this pace.
  double next_s() const { return next_s_; }
  // Begins or ends a pause whose date has come.
  void advance(double now_s);

 private:
  double drawn();

  double pause_s_, requests_;
  RandomStream random_;
  bool paused_ = false;
  double left_;         // requests until the next pause, at since_s_
  double since_s_ = 0;  // of the present pace
  double pace_ = 0;
  double next_s_ = kInfinity;
};

}  // namespace leanstream::sim
