#include "engine/energy/heat.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/energy/device.h"

namespace leanstream::energy {
namespace {

TEST(Approach, IsOneMinusTheExponential) {
  EXPECT_EQ(approach(0), 0);
  EXPECT_EQ(approach(1e6), 1);
  for (double x = 1e-12; x < 100; x *= 1.37) {
    const double exact = -std::expm1(-x);
    EXPECT_NEAR(approach(x) / exact, 1, 4e-15) << x;
  }
}

const platform::ThermalUnit kUnit = round_platform().thermal->accelerator;

// T(t) = T_ambient + P · R · (1 − e^(−t ÷ RC)).
TEST(Temperature, StepResponse) {
  for (const double t : {1e-6, 0.01, 1.0, 20.0, 100.0, 1e4}) {
    const double expected = 20 + 10 * 4 * (1 - std::exp(-t / 20));
    EXPECT_NEAR(temperature_c(20, 10, t, 20, kUnit), expected, 1e-12 * expected) << t;
  }
}

TEST(Temperature, CoolsTheSameWay) {
  EXPECT_NEAR(temperature_c(80, 0, 20, 20, kUnit), 20 + 60 * std::exp(-1.0), 1e-12);
  EXPECT_EQ(temperature_c(20, 0, 5, 20, kUnit), 20);
}

TEST(Temperature, ManySmallStepsAreOneLargeOne) {
  double c = 20;
  for (int i = 0; i < 10'000; ++i) c = temperature_c(c, 7, 0.003, 20, kUnit);
  EXPECT_NEAR(c, temperature_c(20, 7, 30, 20, kUnit), 1e-9);
}

// What was put in is stored or has left through the resistance: P · t = C · ΔT + ∫ (T − T_a) ÷ R
// dt.
TEST(Temperature, ConservesEnergy) {
  double c = 20;
  double left_j = 0;
  const double step_s = 0.001;
  for (int i = 0; i < 40'000; ++i) {
    const double next = temperature_c(c, 9, step_s, 20, kUnit);
    left_j += (0.5 * (c + next) - 20) / 4 * step_s;
    c = next;
  }
  EXPECT_NEAR(5 * (c - 20) + left_j, 9 * 40, 1e-6 * 360);
}

Joules accelerator_j(double j) {
  return {.accelerator = j};
}

TEST(Heat, ThrottlesAtTheLimitUntilItIsCoolEnough) {
  const auto platform = round_platform();
  Heat heat(*platform.thermal, 20, true);
  // 15 W tend to 80 C: 60 C after RC · ln 3 = 21.972 s.
  heat.step(accelerator_j(15 * 21.97), 21.97);
  EXPECT_FALSE(heat.throttled().any());
  EXPECT_NEAR(heat.now().accelerator_c, 60, 0.003);
  heat.step(accelerator_j(15 * 0.003), 0.003);
  EXPECT_EQ(heat.throttled(), (Throttled{.accelerator = 1}));
  EXPECT_EQ(heat.now().cpu_c, 20) << "each unit is warmed by its own power";
  // Without power 50 C come after RC · ln (40 ÷ 30) = 5.754 s.
  heat.step({}, 5.75);
  EXPECT_EQ(heat.throttled().accelerator, 1);
  heat.step({}, 0.006);
  EXPECT_FALSE(heat.throttled().any());
  EXPECT_NEAR(heat.peak().accelerator_c, 60, 0.003);
  EXPECT_LT(heat.now().accelerator_c, 50);
}

// Frequencies change by one step each period, and not between limit and hysteresis.
TEST(Heat, LowersAndRaisesFrequenciesStepByStep) {
  auto platform = round_platform();
  auto& unit = platform.thermal->accelerator;
  unit.steps = 3;
  platform.thermal->period_ns = 1'000'000'000;
  const double rates[] = {1, 1 - 0.5 / 3, 1 - 0.5 * 2 / 3, 0.5};
  const double powers[] = {1, 0.75, 0.5, 0.25};
  for (std::int32_t step = 0; step <= 3; ++step) {
    EXPECT_DOUBLE_EQ(unit.rate(step), rates[step]);
    EXPECT_DOUBLE_EQ(unit.power(step), powers[step]);
  }
  Heat heat(*platform.thermal, 60, true);
  EXPECT_EQ(heat.throttled().accelerator, 1) << "it begins hot";
  const double hot_w = (60.0 - 20) / 4 + 1, warm_w = (55.0 - 20) / 4;
  std::vector<std::int32_t> steps;
  const auto pass = [&](double w) {
    for (int i = 0; i < 4; ++i) {
      heat.step(accelerator_j(w * 0.25), 0.25);
      steps.push_back(heat.throttled().accelerator);
    }
  };
  for (int second = 0; second < 4; ++second) pass(hot_w);
  EXPECT_THAT(steps, testing::ElementsAre(1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3));
  for (int second = 0; second < 20; ++second) pass(warm_w);
  EXPECT_EQ(steps.back(), 3) << "not cool enough";
  steps.clear();
  for (int second = 0; second < 8; ++second) pass(0);
  EXPECT_EQ(steps.back(), 0);
  EXPECT_TRUE(std::ranges::is_sorted(steps, std::greater())) << "one after the other";
  EXPECT_NE(std::ranges::find(steps, 1), steps.end());
}

TEST(Heat, WithoutThrottlingOnlyTemperaturesRise) {
  const auto platform = round_platform();
  Heat heat(*platform.thermal, 70, false);
  heat.step(accelerator_j(1000), 10);
  EXPECT_FALSE(heat.throttled().any());
  EXPECT_GT(heat.peak().accelerator_c, 70);
  EXPECT_EQ(Heat(*platform.thermal, 70, true).throttled(), (Throttled{1, 1, 1}));
}

TEST(Heat, MorePowerIsNeverCooler) {
  const auto platform = round_platform();
  double before = 0;
  for (double w = 0; w < 50; w += 2.5) {
    Heat heat(*platform.thermal, 20, true);
    heat.step(accelerator_j(w * 7), 7);
    EXPECT_GE(heat.now().accelerator_c, before);
    before = heat.now().accelerator_c;
  }
}

}  // namespace
}  // namespace leanstream::energy
