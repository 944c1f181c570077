#include "traces/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "tests/traces/naive_cache.h"
#include "tests/traces/small_trace.h"

namespace leanstream::traces {
namespace {

constexpr SmallShape kCountedShape{.tokens = 24, .layers = 3, .hidden = 2, .ffn = 40};

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() {
    std::vector<std::uint16_t> features;
    full_writer(kCountedShape, features).write(folder_.file("t"));
  }

  // The active set by sorting pairs of code and hash.
  Ids naive_set(const Trace& trace, TokenId t, LayerId l, int count) const {
    std::set<std::tuple<int, std::uint64_t, int>> order;
    for (int j = 0; j < trace.ffn(); ++j) {
      order.emplace(-int{trace.importance(t, l)[static_cast<std::size_t>(j)]},
                    ~mix(static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(j)), j);
    }
    Ids ids;
    for (const auto& [code, hash, j] : order) {
      if (static_cast<int>(ids.size()) < count) ids.insert(j);
    }
    return ids;
  }

  double share(const Trace& trace, TokenId t, LayerId l, const Ids& ids) const {
    double part = 0, all = 0;
    for (int j = 0; j < trace.ffn(); ++j) {
      const double s = trace.levels(l)[trace.importance(t, l)[static_cast<std::size_t>(j)]];
      all += s;
      if (ids.contains(j)) part += s;
    }
    return part / all;
  }

  TemporaryFolder folder_;
};

TEST_F(StatisticsTest, SetsAndSharesEqualANaiveComputation) {
  const Trace trace(folder_.file("t"));
  for (const double density : {0.1, 0.3, 0.5}) {
    const Statistics s = statistics(trace, density);
    const auto sets = active_sets(trace, density);
    const int count = static_cast<int>(std::lround(density * kCountedShape.ffn));
    EXPECT_EQ(s.active_neurons, count);
    double importance = 0, kept = 0, kept_last = 0;
    std::map<std::pair<int, int>, int> uses;
    for (TokenId t = 0; t < kCountedShape.tokens; ++t) {
      for (LayerId l = 0; l < kCountedShape.layers; ++l) {
        const Ids ids = naive_set(trace, t, l, count);
        for (int j = 0; j < kCountedShape.ffn; ++j)
          ASSERT_EQ(sets.at(t, l).test(j), ids.contains(j));
        for (const int j : ids) ++uses[{l, j}];
        importance += share(trace, t, l, ids) / (kCountedShape.tokens * kCountedShape.layers);
        if (t == 0) continue;
        for (const int j : naive_set(trace, t - 1, l, count)) {
          if (!ids.contains(j)) continue;
          kept += 1.0 / (count * (kCountedShape.tokens - 1) * kCountedShape.layers);
          if (l == 2) kept_last += 1.0 / (count * (kCountedShape.tokens - 1));
        }
      }
    }
    EXPECT_NEAR(s.importance_share, importance, 1e-9);
    EXPECT_NEAR(s.overlap, kept, 1e-9);
    EXPECT_NEAR(s.overlap_by_layer.back(), kept_last, 1e-9);
    std::multiset<int, std::greater<>> hottest;
    for (const auto& [neuron, n] : uses) hottest.insert(n);
    EXPECT_NEAR(s.never_active_share, 1 - static_cast<double>(uses.size()) / 120, 1e-9);
    double top = 0;
    auto at = hottest.begin();
    for (int i = 0; i < 24 && at != hottest.end(); ++i) top += *at++;
    EXPECT_NEAR(s.hottest_share[1], top / (count * kCountedShape.tokens * kCountedShape.layers),
                1e-9);
  }
}

TEST_F(StatisticsTest, CacheFiguresAreThoseOfTheReplays) {
  const Trace trace(folder_.file("t"));
  const Statistics s = statistics(trace, 0.25);
  const auto sets = active_sets(trace, 0.25);
  const auto steps = steps_of(sets);
  EXPECT_EQ(s.warm_up_tokens, 12);
  const double wanted = 10 * 12 * 3;
  EXPECT_NEAR(s.cache[1].lru, static_cast<double>(naive_misses(sets, 30, 36, false)) / wanted,
              1e-9);
  EXPECT_NEAR(s.cache[2].lfu, static_cast<double>(naive_misses(sets, 60, 36, true)) / wanted, 1e-9);
  EXPECT_NEAR(s.cache[2].belady, static_cast<double>(naive_belady(steps, 60, 36)) / wanted, 1e-9);
  EXPECT_NEAR(s.cache[1].static_hottest, static_cast<double>(naive_static(sets, 30, 12)) / wanted,
              1e-9);
}

TEST_F(StatisticsTest, PerplexityLeavesOutTheUnknownAndTheEarly) {
  const Trace trace(folder_.file("t"));
  EXPECT_NEAR(*perplexity(trace), std::exp(0.5 + (1 + 23) / 2.0), 1e-3);
  EXPECT_NEAR(*perplexity(trace, 20) / std::exp(0.5 + (20 + 23) / 2.0), 1, 1e-6);
  EXPECT_FALSE(perplexity(trace, 24).has_value());
}

TEST_F(StatisticsTest, TiesAreCountedAndBrokenByHash) {
  std::vector<std::uint8_t> codes = {9, 5, 5, 5, 5, 1};
  BlockSet set(6);
  TopChoice top;
  Cut cut = top.choose(codes, 3, 3, set);
  EXPECT_EQ(cut.tied, 4);
  EXPECT_EQ(cut.chosen, 2);
  EXPECT_EQ(set.count(), 3);
  EXPECT_TRUE(set.test(0));
  EXPECT_FALSE(set.test(5));
  cut = top.choose(codes, 3, 5, set);
  EXPECT_EQ(cut.tied, cut.chosen);
  std::set<std::vector<std::uint64_t>> choices;
  for (TokenId t = 0; t < 20; ++t) {
    top.choose(codes, t, 3, set);
    choices.insert({set.words().begin(), set.words().end()});
  }
  EXPECT_GT(choices.size(), 3U);
}

TEST_F(StatisticsTest, ADensityOutsideItsRangeIsTheUsersMistake) {
  const Trace trace(folder_.file("t"));
  EXPECT_THROW(statistics(trace, 0), UserError);
  EXPECT_THROW(statistics(trace, 1.01), UserError);
  EXPECT_THROW(statistics(trace, std::nan("")), UserError);
  EXPECT_NEAR(statistics(trace, 1).cache[1].static_hottest, 0.75, 1e-9);
}

}  // namespace
}  // namespace leanstream::traces
