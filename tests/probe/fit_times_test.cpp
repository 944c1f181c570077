#include "platforms/probe/fit_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace leanstream::probe {
namespace {

using testing::DoubleNear;
using testing::Each;

TEST(FitTimes, FindsTheCostsOfExactTimes) {
  // 4 µs a command and 10 GB/s.
  std::vector<Timed> times;
  for (const double bytes : {1e5, 3e6, 8e7}) {
    for (const double commands : {1.0, 3.0}) {
      times.push_back({{bytes, commands}, bytes / 10e9 + commands * 4e-6});
    }
  }
  const TimeFit fit = fit_times(times);
  EXPECT_NEAR(fit.costs[0] * 10e9, 1, 1e-9);
  EXPECT_NEAR(fit.costs[1] / 4e-6, 1, 1e-9);
  EXPECT_THAT(fit.errors, Each(DoubleNear(0, 1e-9)));
  EXPECT_NEAR(fit.error, 0, 1e-9);
  EXPECT_GT(fit.error_without[1], 0.1);
  EXPECT_GT(fit.error_without[0], fit.error_without[1]);
}

TEST(FitTimes, ACostThatBettersNothingIsLeftOut) {
  // 4 ns a command explain what 0.04 % of noise is made of.
  std::vector<Timed> times;
  for (const double bytes : {1e5, 2e5, 3e5}) times.push_back({{bytes, 1}, bytes / 10e9 + 4e-9});
  const TimeFit fit = fit_times(times);
  EXPECT_EQ(fit.costs[1], 0);
  EXPECT_GT(fit.error, 0);
  EXPECT_EQ(fit.error_without[1], fit.error);
}

TEST(FitTimes, NoCostIsNegative) {
  // Less than bytes alone would take: exact only with −2 µs a command.
  const std::vector<Timed> times{{{1e5, 1}, 8e-6}, {{1e6, 1}, 98e-6}, {{1e7, 1}, 998e-6}};
  const TimeFit fit = fit_times(times);
  EXPECT_EQ(fit.costs[1], 0);
  // Σ (c · bytes ÷ s − 1)² is least at c = Σ x ÷ Σ x².
  double x = 0, xx = 0;
  for (const Timed& t : times) {
    x += t.amounts[0] / t.seconds;
    xx += t.amounts[0] * t.amounts[0] / (t.seconds * t.seconds);
  }
  EXPECT_NEAR(fit.costs[0] / (x / xx), 1, 1e-9);
  EXPECT_NEAR(fit.errors[0], x / xx * 1e5 / 8e-6 - 1, 1e-9);
}

TEST(FitTimes, ErrorsAreRelative) {
  // A microsecond too much weighs where it is a tenth, not where it is a thousandth.
  const TimeFit fit =
      fit_times(std::vector<Timed>{{{1e3}, 1e-6}, {{1e6}, 1e-3}, {{1e6}, 1e-3 + 1e-6}});
  EXPECT_NEAR(fit.costs[0] * 1e9, 1, 1e-3);
  EXPECT_NEAR(fit.errors[0], 0, 1e-3);
}

TEST(FitTimes, AnAmountThatNeverOccursCostsNothing) {
  const TimeFit fit = fit_times(std::vector<Timed>{{{2, 0}, 4}, {{3, 0}, 6}});
  EXPECT_NEAR(fit.costs[0], 2, 1e-12);
  EXPECT_EQ(fit.costs[1], 0);
}

}  // namespace
}  // namespace leanstream::probe
