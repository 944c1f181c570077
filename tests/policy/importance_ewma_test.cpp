// The cache by mean importance against means of real numbers, on random scores.
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/policy/cache/cache_policy.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

constexpr LayerId kScoredLayers = 3;
constexpr BlockId kScoredBlocks = 512;
constexpr int kScoredTokens = 200;
constexpr double kMemory = 16;

// Means as real numbers, as multiples of the layer's mean; a new one starts at 1.
class NaiveMeans {
 public:
  void scored(LayerId layer, const std::vector<std::uint32_t>& units) {
    double total = 0;
    for (const std::uint32_t u : units) total += u;
    for (std::size_t b = 0; b < units.size(); ++b) {
      double& mean = means_[static_cast<std::size_t>(layer)][b];
      mean += (units[b] * static_cast<double>(units.size()) / total - mean) / kMemory;
    }
  }
  double of(LayerId layer, BlockId b) const {
    return means_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(b)];
  }

 private:
  std::vector<std::vector<double>> means_{kScoredLayers, std::vector<double>(kScoredBlocks, 1.0)};
};

// What goes has lower means than what stays, up to the steps in which the policy keeps them: 1 in
// 128, and some units of 2⁻²⁰ for each token remembered.
TEST(ImportanceEwma, EvictsTheLowestMeans) {
  const auto policy = scheduler::make_policy<CachePolicy>("{policy: importance_ewma, tokens: 16}",
                                                          {kScoredLayers, kScoredBlocks, 100, 0});
  ASSERT_TRUE(policy->reads_scores());
  NaiveMeans naive;
  RandomStream random(1, "test.importance_ewma");
  std::int64_t accesses = 0;
  for (int t = 0; t < kScoredTokens; ++t) {
    for (LayerId l = 0; l < kScoredLayers; ++l) {
      std::vector<std::uint32_t> units(kScoredBlocks);
      for (std::size_t b = 0; b < units.size(); ++b) {
        // Some are important always, some now and then.
        const std::uint64_t most = b % 5 == 0 ? 40'000 : 4'000;
        units[b] = static_cast<std::uint32_t>(1 + random.next_below(most));
      }
      policy->scored(l, units, t * kScoredLayers + l);
      naive.scored(l, units);
      accesses += kScoredBlocks;
    }
    std::vector<BlockSet> evictable(kScoredLayers, BlockSet(kScoredBlocks));
    for (BlockSet& set : evictable) {
      for (BlockId b = 0; b < kScoredBlocks; ++b) set.set_if(b, random.next_below(2) == 0);
    }
    const auto count = static_cast<BlockId>(1 + random.next_below(300));
    std::vector<BlockRef> out;
    policy->victims({evictable, 0}, count, out);
    ASSERT_EQ(std::ssize(out), count);
    double highest = 0;
    for (const auto& [layer, block] : out) {
      BlockSet& set = evictable[static_cast<std::size_t>(layer)];
      ASSERT_TRUE(set.test(block)) << "not evictable, or named twice";
      set.reset(block);
      highest = std::max(highest, naive.of(layer, block));
    }
    for (LayerId l = 0; l < kScoredLayers; ++l) {
      evictable[static_cast<std::size_t>(l)].for_each(
          [&](BlockId b) { EXPECT_GE(naive.of(l, b), highest * (1 - 1.0 / 128) - 1e-4); });
    }
  }
  EXPECT_GE(accesses, 100'000);
}

}  // namespace
}  // namespace leanstream::policy
