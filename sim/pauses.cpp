#include "sim/pauses.h"

#include <algorithm>
#include <cmath>

namespace leanstream::sim {

Pauses::Pauses(const platform::Flash& flash, std::uint64_t seed)
    : pause_s_(seconds(flash.pause_ns)),
      requests_(flash.pause_requests),
      random_(seed, "sim.flash.pauses"),
      left_(drawn()) {}

// −ln u as a multiple of 2⁻³⁰, so that the last bits of std::log do not matter.
double Pauses::drawn() {
  if (pause_s_ <= 0 || requests_ <= 0) return kInfinity;
  const double u = 1 - random_.next_unit();
  return requests_ * std::nearbyint(-std::log(u) * 0x1p30) * 0x1p-30;
}

void Pauses::set_pace(double requests_per_s, double now_s) {
  if (paused_ || requests_per_s == pace_) return;
  left_ = std::max(0.0, left_ - pace_ * (now_s - since_s_));
  since_s_ = now_s;
  pace_ = requests_per_s;
  next_s_ = pace_ > 0 ? now_s + left_ / pace_ : kInfinity;
}

void Pauses::advance(double now_s) {
  if (next_s_ > now_s + kSameS) return;
  paused_ = !paused_;
  pace_ = 0;
  if (paused_) {
    next_s_ = now_s + pause_s_;
  } else {
    left_ = drawn();
    next_s_ = kInfinity;
  }
}

}  // namespace leanstream::sim
