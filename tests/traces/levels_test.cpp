#include "traces/levels.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/model/density.h"
#include "tests/traces/small_trace.h"
#include "traces/active_sets.h"

namespace leanstream::traces {
namespace {

constexpr SmallShape kOneLayer{.tokens = 64, .layers = 1, .hidden = 1, .ffn = 1536};

LevelRegion fit(const std::vector<float>& importance, const SmallShape& shape) {
  return fit_region(importance, static_cast<std::size_t>(shape.tokens),
                    static_cast<std::size_t>(shape.ffn), static_cast<std::size_t>(shape.ffn));
}

TEST(Levels, RoundingErrorStaysWithinTheGuaranteeOfEachRegion) {
  const auto importance = random_importance(kOneLayer, 7);
  const LevelRegion region = fit(importance, kOneLayer);
  const LevelTable levels = make_levels(region);
  const LevelError error = guaranteed_error(region);
  const Quantiser quantiser(levels);
  EXPECT_LE(error.fine, 0.014);
  EXPECT_LE(error.below, 0.1181);
  constexpr double kFloat = 1e-6;
  for (const float s : importance) {
    const double stored = levels[quantiser.code(s)];
    if (s < levels[1]) {
      ASSERT_LE(std::abs(stored - s), levels[1] / 2 + kFloat) << s;
      continue;
    }
    const double allowed =
        s < region.low ? error.below : (s <= region.high ? error.fine : error.above);
    ASSERT_LE(std::max(stored / s, s / stored) - 1, allowed + kFloat) << s;
  }
}

TEST(Levels, CodesGrowWithImportanceAndKnotsLieWhereDocumented) {
  const LevelRegion region{.low = 0.5F, .high = 20, .top = 300};
  const LevelTable levels = make_levels(region);
  EXPECT_EQ(levels[0], 0);
  EXPECT_FLOAT_EQ(levels[1], 0.5F / 1000);
  EXPECT_FLOAT_EQ(levels[kFirstFineCode], 0.5F);
  EXPECT_FLOAT_EQ(levels[kLastFineCode], 20);
  EXPECT_FLOAT_EQ(levels[255], 300);
  EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
  EXPECT_NEAR(levels[101] / levels[100], std::pow(40.0, 1.0 / 200), 1e-6);
  const Quantiser quantiser(levels);
  for (std::size_t c = 0; c < levels.size(); ++c) EXPECT_EQ(quantiser.code(levels[c]), c);
  EXPECT_EQ(quantiser.code(1e9F), 255);
  EXPECT_EQ(quantiser.code(0.4999F * levels[1]), 0);
}

TEST(Levels, FewNeuronsShareTheThresholdAtTheDensitiesThatMatter) {
  const auto importance = random_importance(kOneLayer, 8);
  const Quantiser quantiser(make_levels(fit(importance, kOneLayer)));
  BlockSet set(kOneLayer.ffn);
  TopChoice top;
  const auto ffn = static_cast<std::size_t>(kOneLayer.ffn);
  for (const double density : {0.05, 0.1, 0.2, 0.4, 0.6}) {
    double tied = 0;
    for (TokenId t = 0; t < kOneLayer.tokens; ++t) {
      std::vector<std::uint8_t> codes;
      for (std::size_t j = 0; j < ffn; ++j) {
        codes.push_back(quantiser.code(importance[static_cast<std::size_t>(t) * ffn + j]));
      }
      tied += top.choose(codes, t, model::kept_count(density, kOneLayer.ffn), set).tied;
    }
    EXPECT_LT(tied / kOneLayer.tokens, 0.01 * kOneLayer.ffn) << density;
  }
}

TEST(Levels, LayersWithoutOrWithRareImportanceAreStored) {
  std::vector<float> importance(64 * 1536, 0.0F);
  EXPECT_EQ(Quantiser(make_levels(fit(importance, kOneLayer))).code(0), 0);
  importance[5] = 2;
  importance[6] = 1e-30F;
  LevelTable levels = make_levels(fit(importance, kOneLayer));
  Quantiser sparse(levels);
  EXPECT_NEAR(levels[sparse.code(2)], 2, 1e-6);
  EXPECT_EQ(sparse.code(1e-30F), 0);
  importance.assign(importance.size(), 3);
  levels = make_levels(fit(importance, kOneLayer));
  EXPECT_NEAR(levels[Quantiser(levels).code(3)], 3, 1e-6);
  importance.assign(importance.size(), 1e-42F);
  EXPECT_EQ(Quantiser(make_levels(fit(importance, kOneLayer))).code(1e-42F), 0);
}

}  // namespace
}  // namespace leanstream::traces
