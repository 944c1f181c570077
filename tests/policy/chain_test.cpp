// Co-activation counts and the nearest-link chain, compared with naive references.
#include "engine/policy/place/chain.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/policy/place/coactivation.h"
#include "engine/policy/place/fit.h"

namespace leanstream::policy {
namespace {

using testing::ElementsAre;

std::vector<BlockSet> random_sets(std::int32_t ffn, int tokens, RandomStream& random) {
  std::vector<BlockSet> sets;
  for (int t = 0; t < tokens; ++t) {
    sets.emplace_back(ffn);
    for (BlockId j = 0; j < ffn; ++j) sets.back().set_if(j, random.next_below(3) == 0);
  }
  return sets;
}

TEST(Coactivation, CountsWhatIsUsedTogether) {
  RandomStream random(1, "test.chain");
  for (const std::int32_t ffn : {1, 2, 63, 64, 65, 150}) {
    const auto sets = random_sets(ffn, 70, random);
    const Coactivation counted = count_together(ffn, sets);
    for (BlockId i = 0; i < ffn; ++i) {
      for (BlockId j = 0; j < ffn; ++j) {
        const auto both = std::ranges::count_if(
            sets, [&](const BlockSet& set) { return set.test(i) && set.test(j); });
        if (i == j) {
          EXPECT_EQ(counted.uses[static_cast<std::size_t>(i)], both);
        }
        EXPECT_EQ(counted.row(i)[static_cast<std::size_t>(j)], i == j ? 0 : both);
      }
    }
  }
}

TEST(Coactivation, ClosenessIsTheJaccardIndex) {
  Coactivation c{3, {4, 3, 0}, {0, 2, 0, 2, 0, 0, 0, 0, 0}};
  EXPECT_EQ(c.closeness(0, 1), static_cast<std::uint32_t>(2.0 / 5.0 * 0xffffffffU));
  EXPECT_EQ(c.closeness(0, 2), 0U);
  c.uses = {2, 2, 0};
  EXPECT_EQ(c.closeness(0, 1), 0xffffffffU) << "always together";
  c.uses = {0, 0, 0};
  c.together.assign(9, 0);
  EXPECT_EQ(c.closeness(0, 1), 0U) << "never used";
}

// Sorts all pairs, keeps components by relabelling, walks the links.
std::vector<std::int32_t> naive_chain(std::int32_t count,
                                      const std::vector<std::vector<std::uint32_t>>& closeness) {
  using Key = std::tuple<std::uint32_t, std::int32_t, std::int32_t>;
  std::vector<Key> pairs;
  for (std::int32_t i = 0; i < count; ++i) {
    for (std::int32_t j = i + 1; j < count; ++j) {
      pairs.emplace_back(0xffffffffU - closeness[std::size_t(i)][std::size_t(j)], i, j);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::int32_t> component(std::size_t(count), 0);
  std::iota(component.begin(), component.end(), 0);
  std::vector<std::set<std::int32_t>> links(component.size());
  for (const auto& [_, i, j] : pairs) {
    const auto a = component[std::size_t(i)], b = component[std::size_t(j)];
    if (a == b || links[std::size_t(i)].size() == 2 || links[std::size_t(j)].size() == 2) continue;
    links[std::size_t(i)].insert(j);
    links[std::size_t(j)].insert(i);
    std::replace(component.begin(), component.end(), a, b);
  }
  std::int32_t here = 0;
  while (links[std::size_t(here)].size() == 2) ++here;
  std::vector<std::int32_t> order{here};
  while (!links[std::size_t(here)].empty()) {
    const std::int32_t next = *links[std::size_t(here)].begin();
    links[std::size_t(next)].erase(here);
    order.push_back(here = next);
  }
  return order;
}

TEST(Chain, EqualsTheNaiveOneHoweverFewPairsItHolds) {
  RandomStream random(2, "test.chain");
  for (int round = 0; round < 60; ++round) {
    const auto count = static_cast<std::int32_t>(1 + random.next_below(40));
    // Few different values have many ties; small ones are all in one class.
    const std::uint64_t values = round % 3 == 0 ? 4 : round % 3 == 1 ? 1000 : 1ULL << 32;
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::vector<std::uint32_t>> closeness(size, std::vector<std::uint32_t>(size));
    for (auto& row : closeness) {
      for (auto& c : row) c = static_cast<std::uint32_t>(random.next_below(values));
    }
    const auto at = [&](std::int32_t i, std::int32_t j) {
      return closeness[std::size_t(i)][std::size_t(j)];
    };
    const auto expected = naive_chain(count, closeness);
    for (const std::int64_t most : {std::int64_t{1}, std::int64_t{20}, std::int64_t{1} << 22}) {
      ASSERT_EQ(nearest_link_chain(count, at, most), expected) << "round " << round;
    }
  }
}

TEST(Chain, LinksTheClosestFirst) {
  // 0 and 3 are closest, then 1 and 2; what joins the two pairs is closest between 2 and 3.
  const std::vector<std::vector<std::uint32_t>> closeness{
      {0, 1, 2, 9}, {0, 0, 8, 3}, {0, 0, 0, 4}, {0, 0, 0, 0}};
  const auto at = [&](std::int32_t i, std::int32_t j) {
    return closeness[std::size_t(i)][std::size_t(j)];
  };
  EXPECT_THAT(nearest_link_chain(4, at), ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(nearest_link_chain(1, at), ElementsAre(0));
  EXPECT_TRUE(nearest_link_chain(0, at).empty());
}

}  // namespace
}  // namespace leanstream::policy
