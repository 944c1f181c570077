#include "sim/pauses.h"

#include <cmath>

namespace leanstream::sim {

Pauses::Pauses(const platform::Flash& flash, std::uint64_t seed)
    : pause_s_(seconds(flash.pause_ns)),
      every_s_(seconds(flash.pause_every_ns)),
      random_(seed, "sim.flash.pauses"),
      left_s_(drawn_s()) {}

// −ln u as a multiple of 2⁻³⁰, so that the last bits of std::log do not matter.
double Pauses::drawn_s() {
  if (pause_s_ <= 0 || every_s_ <= 0) return kInfinity;
  const double u = 1 - random_.next_unit();
  return every_s_ * std::nearbyint(-std::log(u) * 0x1p30) * 0x1p-30;
}

void Pauses::set_moving(bool moving, double now_s) {
  if (paused_ || moving == moving_) return;
  moving_ = moving;
  if (moving) {
    next_s_ = now_s + left_s_;
  } else {
    left_s_ = next_s_ - now_s;
  }
}

void Pauses::advance(double now_s) {
  if (next_s() > now_s + kSameS) return;
  paused_ = !paused_;
  moving_ = false;
  if (paused_) {
    next_s_ = now_s + pause_s_;
  } else {
    left_s_ = drawn_s();
  }
}

}  // namespace leanstream::sim
