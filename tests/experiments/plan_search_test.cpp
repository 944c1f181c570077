#include "experiments/run/plan_search.h"

#include <gtest/gtest.h>

namespace leanstream::run {
namespace {

// Each step takes as long as its plan is far from what would suit it.
TimeNs distance(const PlanSequence& sequence, const PlanSequence& best) {
  const auto octaves = [](std::int32_t a, std::int32_t b) {
    return a > b ? __builtin_ctz(static_cast<unsigned>(a / b))
                 : __builtin_ctz(static_cast<unsigned>(b / a));
  };
  TimeNs time = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    time += octaves(sequence[i].omega_io, best[i].omega_io) +
            octaves(sequence[i].omega_gpu, best[i].omega_gpu);
  }
  return time;
}

TEST(PlanSearch, FindsTheBestStaticPlanFirstAndThenPieceByPieceTheSequence) {
  PlanSequence best;  // 2 tokens of 4 layers; the first layer of each is another
  for (int i = 0; i < 8; ++i) {
    best.push_back(i % 4 == 0 ? policy::StagePlan{2, 1} : policy::StagePlan{8, 4});
  }
  std::int32_t calls = 0;
  const auto decode_time = [&](const PlanSequence& s) {
    ++calls;
    return distance(s, best);
  };
  const PlanSequence fixed = search_plans(2, 4, 25, decode_time);
  EXPECT_EQ(calls, 25);
  EXPECT_EQ(distance(fixed, best), 2 * (2 + 2));  // (8, 4) everywhere

  calls = 0;
  const PlanSequence found = search_plans(2, 4, 400, decode_time);
  EXPECT_LE(calls, 400);
  EXPECT_EQ(distance(found, best), 0);
}

TEST(PlanSearch, AFailedRunIsNeverKept) {
  const auto only_one_works = [](const PlanSequence& s) {
    return s[0].omega_io == 4 && s[0].omega_gpu == 2 ? TimeNs{5} : kNever;
  };
  const PlanSequence found = search_plans(1, 1, 30, only_one_works);
  EXPECT_EQ(found[0].omega_io, 4);
  EXPECT_EQ(found[0].omega_gpu, 2);
}

}  // namespace
}  // namespace leanstream::run
