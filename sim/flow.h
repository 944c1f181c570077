// What a command asks of its device, once the device's own formula has been applied, and the state
// of such a flow while it is under way.
#pragma once

#include <algorithm>
#include <limits>

#include "engine/base/types.h"

namespace leanstream::sim {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Dates nearer than this are the same: rounding noise of a clock in seconds.
inline constexpr double kSameS = 1e-12;

// Waits `delay_s`, then moves `bytes` at up to `bytes_per_s`; slower while others share the way.
// Without bytes it is a timer. Without bytes and delay it ends at once.
struct Flow {
  double bytes = 0;
  double delay_s = 0;
  double bytes_per_s = 0;  // > 0 where there are bytes

  bool instant() const { return bytes <= 0 && delay_s <= 0; }
  // How long it takes with the way to itself.
  double alone_s() const { return delay_s + (bytes <= 0 ? 0.0 : bytes / bytes_per_s); }
};

// A flow under way. Its dates change only when its rate does, so they carry no noise of other
// events.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Flow& flow, double now_s)
      : left_(flow.bytes),
        bound_(flow.bytes_per_s),
        moving_(flow.delay_s <= 0),
        since_s_(now_s + flow.delay_s),
        end_s_(flow.bytes <= 0 ? since_s_ : kInfinity) {}

  // The delay is over; bytes move, at rate 0 until set_rate.
  bool moving() const { return moving_; }
  // When the delay ends, or when the flow ends at its present rate.
  double next_s() const { return moving_ ? end_s_ : since_s_; }
  // To be called when next_s() has come; true when that was the end of the flow.
  bool step() {
    if (moving_ || left_ <= 0) return true;
    moving_ = true;
    return false;
  }

  double bound() const { return bound_; }
  double left(double now_s) const {
    return moving_ ? std::max(0.0, left_ - rate_ * (now_s - since_s_)) : left_;
  }
  // What is left of alone_s(), whatever the rate is now.
  double left_alone_s(double now_s) const {
    const double delay_s = moving_ ? 0.0 : std::max(0.0, since_s_ - now_s);
    return delay_s + (left_ <= 0 ? 0.0 : left(now_s) / bound_);
  }

  void set_rate(double bytes_per_s, double now_s) {
    if (bytes_per_s == rate_ || !moving_) return;
    left_ = left(now_s);
    since_s_ = now_s;
    rate_ = bytes_per_s;
    end_s_ = rate_ > 0 ? since_s_ + left_ / rate_ : kInfinity;
  }
  // Leaves only so much of alone_s(); at least the delay.
  void cut_alone_s(double left_s, double now_s) {
    const double delay_s = moving_ ? 0.0 : std::max(0.0, since_s_ - now_s);
    const double rate = rate_;
    set_rate(0, now_s);
    left_ = std::max(0.0, left_s - delay_s) * bound_;
    set_rate(rate, now_s);
  }

 private:
  double left_ = 0;  // bytes at since_s_
  double bound_ = 0;
  double rate_ = 0;
  bool moving_ = false;
  double since_s_ = 0;  // of the present rate; the end of the delay before it moves
  double end_s_ = 0;
};

}  // namespace leanstream::sim
