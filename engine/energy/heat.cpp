#include "engine/energy/heat.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::energy {
namespace {

void change(std::int32_t& step, double now_c, const platform::ThermalUnit& unit) {
  if (now_c >= unit.limit_c) {
    step = std::min(step + 1, unit.steps);
  } else if (now_c <= unit.limit_c - unit.hysteresis_k) {
    step = std::max(step - 1, 0);
  }
}

}  // namespace

// With m(x) = 1 − e^(−x): m(2x) = m · (2 − m), which cancels nothing. So x is halved until a short
// series does.
double approach(double x) {
  LEANSTREAM_CHECK(x >= 0, "a time of {} time constants", x);
  if (x > 64) return 1;  // e^(−64) is far below the last bit
  int doublings = 0;
  for (; x > 0.03125; ++doublings) x *= 0.5;
  double term = x;
  double sum = x;
  for (int n = 2; n <= 9; ++n) {
    term *= -x / n;
    sum += term;
  }
  for (; doublings > 0; --doublings) sum *= 2 - sum;
  return sum;
}

double temperature_c(double from_c, double power_w, double time_s, double ambient_c,
                     const platform::ThermalUnit& unit) {
  const double end_c = ambient_c + power_w * unit.resistance_k_per_w;
  const double constant_s = unit.resistance_k_per_w * unit.capacity_j_per_k;
  return from_c + (end_c - from_c) * approach(time_s / constant_s);
}

void Temperatures::raise_to(const Temperatures& o) {
  accelerator_c = std::max(accelerator_c, o.accelerator_c);
  cpu_c = std::max(cpu_c, o.cpu_c);
  flash_c = std::max(flash_c, o.flash_c);
}

Heat::Heat(const platform::Thermal& thermal, double start_c, bool throttles)
    : thermal_(&thermal), throttles_(throttles), now_{start_c, start_c, start_c}, peak_(now_) {
  decide();
}

void Heat::step(const Joules& joules, double time_s) {
  LEANSTREAM_CHECK(time_s > 0, "a step of {} s", time_s);
  const auto warm = [&](double& now_c, double unit_j, const platform::ThermalUnit& unit) {
    now_c = temperature_c(now_c, unit_j / time_s, time_s, thermal_->ambient_c, unit);
  };
  warm(now_.accelerator_c, joules.accelerator, thermal_->accelerator);
  warm(now_.cpu_c, joules.cpu, thermal_->cpu);
  warm(now_.flash_c, joules.flash, thermal_->flash);
  peak_.raise_to(now_);
  since_s_ += time_s;
  if (since_s_ >= seconds(thermal_->period_ns)) decide();
}

void Heat::decide() {
  since_s_ = 0;
  if (!throttles_) return;
  change(throttled_.accelerator, now_.accelerator_c, thermal_->accelerator);
  change(throttled_.cpu, now_.cpu_c, thermal_->cpu);
  change(throttled_.flash, now_.flash_c, thermal_->flash);
}

}  // namespace leanstream::energy
