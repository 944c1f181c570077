// Learned orders: clusters against a naive reference, the embedding on data whose structure is
// known.
#include "engine/learn/placement.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/learn/clusters.h"

namespace leanstream::learn {
namespace {

using policy::Coactivation;

// Groups of `size` neurons, scattered over the indices, of which a token uses some whole groups
// and a few others.
struct Grouped {
  std::int32_t ffn;
  std::int32_t size;
  std::vector<BlockSet> active;

  std::int32_t group(std::int32_t neuron) const { return neuron % (ffn / size); }
};

Grouped grouped(std::int32_t ffn, std::int32_t size, int tokens) {
  RandomStream random(3, "test.learn");
  Grouped out{ffn, size, {}};
  for (int t = 0; t < tokens; ++t) {
    std::vector<bool> on(static_cast<std::size_t>(ffn / size));
    for (std::size_t g = 0; g < on.size(); ++g) on[g] = random.next_below(5) == 0;
    out.active.emplace_back(ffn);
    for (BlockId j = 0; j < ffn; ++j) {
      const bool noise = random.next_below(20) == 0;
      out.active.back().set_if(j, on[static_cast<std::size_t>(out.group(j))] != noise);
    }
  }
  return out;
}

bool is_permutation_of_all(std::vector<std::int32_t> order) {
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

std::int64_t within_blocks(const Coactivation& c, std::span<const std::int32_t> order,
                           std::size_t k) {
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < order.size(); ++p) {
    for (std::size_t q = p + 1; q < std::min(order.size(), (p / k + 1) * k); ++q) {
      sum += c.row(order[p])[static_cast<std::size_t>(order[q])];
    }
  }
  return sum;
}

TEST(Clusters, NoExchangeOfTwoNeuronsWouldAddToTheirBlocks) {
  const Grouped data = grouped(60, 5, 100);
  const Coactivation c = policy::count_together(data.ffn, data.active);
  for (const std::size_t k : {2U, 3U, 4U, 7U}) {
    auto order = order_by_clusters(c, static_cast<std::int32_t>(k));
    ASSERT_TRUE(is_permutation_of_all(order)) << k;
    const std::int64_t found = within_blocks(c, order, k);
    const std::size_t full = order.size() / k * k;
    for (std::size_t p = 0; p < full; ++p) {
      for (std::size_t q = p + 1; q < full; ++q) {
        std::swap(order[p], order[q]);
        EXPECT_LE(within_blocks(c, order, k), found) << "k " << k << ", " << p << " and " << q;
        std::swap(order[p], order[q]);
      }
    }
  }
}

TEST(Clusters, ABlockOfOneAndOfAllAreOrdersToo) {
  const Grouped data = grouped(20, 4, 50);
  const Coactivation c = policy::count_together(data.ffn, data.active);
  EXPECT_TRUE(is_permutation_of_all(order_by_clusters(c, 1)));
  EXPECT_TRUE(is_permutation_of_all(order_by_clusters(c, 20)));
}

class LearnedOrder : public testing::TestWithParam<PlacementPolicy> {};

TEST_P(LearnedOrder, FindsGroupsThatAreUsedTogether) {
  const Grouped data = grouped(96, 4, 400);
  const PlacementRule rule{.policy = GetParam(), .block_neurons = 4, .embedding = {}};
  const auto order = learn_order(rule, 0, data.ffn, data.active);
  ASSERT_TRUE(is_permutation_of_all(order));
  std::int32_t kept = 0;
  for (std::size_t p = 0; p + 1 < order.size(); ++p) {
    kept += data.group(order[p]) == data.group(order[p + 1]);
  }
  const std::int32_t all = data.ffn / data.size * (data.size - 1);
  EXPECT_GE(kept, all * 9 / 10) << "of " << all << " neighbours within groups";
  EXPECT_EQ(learn_order(rule, 0, data.ffn, data.active), order) << "equal inputs, equal order";
}

INSTANTIATE_TEST_SUITE_P(All, LearnedOrder,
                         testing::Values(PlacementPolicy::pairwise, PlacementPolicy::embedding));

TEST(Embedding, KeepsWhatIsFarFromChance) {
  const Grouped data = grouped(96, 4, 400);
  const Coactivation counted = policy::count_together(data.ffn, data.active);
  const Coactivation seen = embedded(counted, {});
  const double unit = static_cast<double>(seen.uses[0]) / counted.uses[0];
  double error = 0, together = 0;
  for (std::int32_t i = 0; i < data.ffn; ++i) {
    for (std::int32_t j = 0; j < data.ffn; ++j) {
      if (i == j || data.group(i) != data.group(j)) continue;
      const auto at = static_cast<std::size_t>(j);
      error += std::abs(seen.row(i)[at] / unit - counted.row(i)[at]);
      together += counted.row(i)[at];
      EXPECT_EQ(seen.row(i)[at], seen.row(j)[static_cast<std::size_t>(i)]);
    }
  }
  EXPECT_LT(error, 0.1 * together);
}

TEST(Embedding, NothingUsedIsNoError) {
  const std::vector<BlockSet> none(3, BlockSet(8));
  const PlacementRule rule;
  EXPECT_TRUE(is_permutation_of_all(learn_order(rule, 0, 8, none)));
}

}  // namespace
}  // namespace leanstream::learn
