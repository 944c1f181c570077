// Temperatures of the units: for each a resistance to the ambient and a capacity.
#pragma once

#include "engine/energy/use.h"
#include "engine/platform/platform.h"

namespace leanstream::energy {

// 1 − e^(−x), x ≥ 0, within 10⁻¹⁵ relatively. Made of additions and multiplications alone, so it
// has the same bits on every machine.
double approach(double x);

// T(t) = T∞ + (T(0) − T∞) · e^(−t ÷ (R · C)), T∞ = ambient + power · R: exact for constant power.
double temperature_c(double from_c, double power_w, double time_s, double ambient_c,
                     const platform::ThermalUnit& unit);

struct Temperatures {
  double accelerator_c = 0;
  double cpu_c = 0;
  double flash_c = 0;

  // The higher of each.
  void raise_to(const Temperatures& other);
};

// Power is taken as constant over each step. Frequencies change at the ends of steps, where
// `period` has passed since they were decided last.
class Heat {
 public:
  // All units begin at start_c. `thermal` outlives it.
  Heat(const platform::Thermal& thermal, double start_c, bool throttles);

  // `joules` were turned into heat in time_s > 0.
  void step(const Joules& joules, double time_s);

  const Temperatures& now() const { return now_; }
  const Temperatures& peak() const { return peak_; }
  const Throttled& throttled() const { return throttled_; }

 private:
  void decide();

  const platform::Thermal* thermal_;
  bool throttles_;
  Temperatures now_;
  Temperatures peak_;
  Throttled throttled_;
  double since_s_ = 0;  // the last decision
};

}  // namespace leanstream::energy
