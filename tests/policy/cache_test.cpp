// Cache policies against naive references on random sets.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/config/document.h"
#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

constexpr LayerId kLayers = 3;
constexpr BlockId kBlocks = 70;

std::unique_ptr<CachePolicy> make(const std::string& yaml, SlotId slots, TokenId prompt = 0) {
  return scheduler::make_policy<CachePolicy>(yaml, {kLayers, kBlocks, slots, prompt});
}

BlockSet random_set(RandomStream& random, int of_ten) {
  BlockSet set(kBlocks);
  for (BlockId b = 0; b < kBlocks; ++b) {
    if (random.next_below(10) < static_cast<std::uint64_t>(of_ten)) set.set(b);
  }
  return set;
}

BlockSet set_of(std::initializer_list<BlockId> blocks) {
  BlockSet set(kBlocks);
  for (const BlockId b : blocks) set.set(b);
  return set;
}

using Ref = std::pair<LayerId, BlockId>;

// Every evictable block with a key, lowest key first.
template <typename Key>
std::vector<Ref> sorted(const std::vector<BlockSet>& evictable, Key key) {
  std::vector<Ref> all;
  for (LayerId l = 0; l < kLayers; ++l) {
    evictable[static_cast<std::size_t>(l)].for_each([&](BlockId b) { all.emplace_back(l, b); });
  }
  std::sort(all.begin(), all.end(), [&](const Ref& a, const Ref& b) { return key(a) < key(b); });
  return all;
}

std::set<Ref> victims_of(const CachePolicy& policy, const std::vector<BlockSet>& evictable,
                         LayerId current, BlockId count) {
  std::vector<BlockRef> out;
  policy.victims({evictable, current}, count, out);
  std::set<Ref> set;
  for (const auto& v : out) set.emplace(v.layer, v.block);
  EXPECT_EQ(set.size(), out.size()) << "a block was named twice";
  return set;
}

std::vector<BlockSet> random_evictable(RandomStream& random) {
  std::vector<BlockSet> sets;
  for (LayerId l = 0; l < kLayers; ++l) sets.push_back(random_set(random, 4));
  return sets;
}

TEST(Cache, LruAgreesWithSortingByLastUse) {
  RandomStream random(1, "lru");
  const auto lru = make("lru", 100);
  std::map<Ref, StepId> last;
  for (StepId step = 0; step < 300; ++step) {
    const auto layer = static_cast<LayerId>(step % kLayers);
    const BlockSet used = random_set(random, 3);
    lru->used(layer, used, step);
    used.for_each([&](BlockId b) { last[{layer, b}] = step; });
    if (random.next_below(3) == 0) {
      const auto arrived = static_cast<BlockId>(random.next_below(kBlocks));
      lru->inserted(layer, set_of({arrived}), step);
      last[{layer, arrived}] = step;
    }
    const auto evictable = random_evictable(random);
    const auto order = sorted(evictable, [&](const Ref& r) {
      return std::tuple(last.contains(r) ? last[r] : -1, r.first, r.second);
    });
    const auto count = static_cast<BlockId>(random.next_below(60));
    const std::size_t n = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
    const std::set<Ref> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(victims_of(*lru, evictable, layer, count), expected) << "step " << step;
  }
}

TEST(Cache, LfuAgreesWithSortingByUseCountThatSurvivesEviction) {
  RandomStream random(2, "lfu");
  const auto lfu = make("lfu", 100);
  std::map<Ref, int> uses;
  for (StepId step = 0; step < 300; ++step) {
    const auto layer = static_cast<LayerId>(step % kLayers);
    const BlockSet used = random_set(random, 3);
    lfu->used(layer, used, step);
    used.for_each([&](BlockId b) { ++uses[{layer, b}]; });
    const auto evictable = random_evictable(random);
    const auto order = sorted(evictable, [&](const Ref& r) {
      const LayerId age = (r.first - layer - 1 + 2 * kLayers) % kLayers;  // computed longest ago
      return std::tuple(uses[r], age, r.second);
    });
    const auto count = static_cast<BlockId>(random.next_below(60));
    const std::size_t n = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
    const std::set<Ref> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(victims_of(*lfu, evictable, layer, count), expected) << "step " << step;
  }
}

// Sets that change between calls, or only by what was named, or while blocks are used.
TEST(Cache, LfuAgreesWithSortingWhereItMayRemember) {
  RandomStream random(3, "lfu.versions");
  const auto lfu = make("lfu", 100);
  std::map<Ref, int> uses;
  std::vector<BlockSet> evictable = random_evictable(random);
  std::vector<std::uint64_t> versions(kLayers, 1);
  std::uint64_t newest = 1;
  for (StepId step = 0; step < 2'000; ++step) {
    const auto layer = static_cast<LayerId>(step % kLayers);
    if (random.next_below(4) == 0) {
      const BlockSet used = random_set(random, 1);
      lfu->used(layer, used, step);
      used.for_each([&](BlockId b) { ++uses[{layer, b}]; });
    }
    const auto changed = random.next_below(2 * kLayers);
    if (changed < kLayers) {
      evictable[changed] = random_set(random, 4);
      versions[changed] = random.next_below(3) == 0 ? 0 : ++newest;  // 0: not known
    }
    const auto order = sorted(evictable, [&](const Ref& r) {
      const LayerId age = (r.first - layer - 1 + 2 * kLayers) % kLayers;
      return std::tuple(uses[r], age, r.second);
    });
    const auto count = static_cast<BlockId>(random.next_below(20));
    const std::size_t n = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
    std::vector<BlockRef> named;
    lfu->victims({evictable, layer, {}, versions}, count, named);
    std::set<Ref> victims;
    for (const auto& [l, b] : named) {
      victims.emplace(l, b);
      evictable[static_cast<std::size_t>(l)].reset(b);
    }
    const std::set<Ref> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(victims, expected) << "step " << step;
  }
}

TEST(Cache, BitCountersSaturate) {
  BitCounters counters(1, kBlocks);
  BlockSet one(kBlocks);
  one.set(5);
  for (int i = 0; i < 70'000; ++i) counters.increment(0, one);
  EXPECT_EQ(counters.count(0, 5), (1U << BitCounters::kPlanes) - 1);
  EXPECT_EQ(counters.count(0, 4), 0U);
}

TEST(Cache, PinnedKeepsTheSameShareOfEveryLayerAndLeavesTwoStreamBuffers) {
  const SlotId slots = 2 * kBlocks + 20;  // (slots − 2 layers) ÷ (layers − 2) = 20 of 70
  const auto pinned = make("pinned", slots);
  BlockSet all(kBlocks), dropped(kBlocks);
  all.fill();
  for (LayerId l = 0; l < kLayers; ++l) {
    pinned->expired(l, all, 0, dropped);
    EXPECT_EQ(dropped.count(), kBlocks - 20);
    EXPECT_FALSE(dropped.test(19));
    EXPECT_TRUE(dropped.test(20));
  }
  const std::vector<BlockSet> evictable(kLayers, all);
  EXPECT_EQ(victims_of(*pinned, evictable, 0, 1000).size(), 3U * (kBlocks - 20));
  EXPECT_THROW(make("{policy: pinned, share: 0.5}", slots), UserError);
  EXPECT_NO_THROW(make("{policy: pinned, share: 0.25}", slots));
}

// Sets of the prompt: token t uses blocks 10·t … 10·t + 9 of every layer, so the union of w tokens
// is 10·w blocks a layer, 30·w in all.
TEST(Cache, WindowIsTheLargestThatFitsOnThePrompt) {
  constexpr TokenId kPrompt = 5;
  for (const SlotId slots : {29, 30, 89, 90, 120}) {
    const auto window = make("window", slots, kPrompt);
    for (LayerId l = 0; l < kLayers; ++l) {
      for (TokenId t = 0; t < kPrompt; ++t) {
        BlockSet used(kBlocks);
        for (BlockId b = 10 * t; b < 10 * t + 10; ++b) used.set(b);
        window->used(l, used, t * kLayers + l);
      }
    }
    BlockSet resident(kBlocks), dropped(kBlocks);
    resident.fill();
    window->expired(0, resident, kPrompt * kLayers, dropped);
    const int w = std::max(1, slots / 30);
    for (BlockId b = 0; b < kBlocks; ++b) {
      const bool kept = b >= 10 * (kPrompt - w) && b < 10 * kPrompt;
      EXPECT_EQ(dropped.test(b), !kept) << "slots " << slots << " block " << b;
    }
  }
}

TEST(Cache, WindowThatHoldsEverythingDropsNothing) {
  const auto window = make("window", kLayers * kBlocks, 1);
  BlockSet resident(kBlocks), dropped(kBlocks);
  resident.fill();
  window->used(0, BlockSet(kBlocks), 0);
  window->expired(0, resident, kLayers, dropped);
  EXPECT_TRUE(dropped.empty());
}

// Blocks 0 … 9 of every layer for each of 10 tokens, and one other block each.
std::unique_ptr<CachePolicy> hot_cold_after_prompt(const std::string& yaml, SlotId slots) {
  constexpr TokenId kPrompt = 10;
  auto policy = make(yaml, slots, kPrompt);
  for (LayerId l = 0; l < kLayers; ++l) {
    EXPECT_EQ(policy->always_computed(l), nullptr);
    for (TokenId t = 0; t < kPrompt; ++t) {
      BlockSet used(kBlocks);
      for (BlockId b = 0; b < 10; ++b) used.set(b);
      used.set(20 + 2 * t);
      policy->used(l, used, t * kLayers + l);
    }
  }
  policy->prompt_ended();
  return policy;
}

TEST(Cache, HotColdPinsTheMostUsedBlocksUpToItsShareAndToWhatATokenWants) {
  for (const auto& [share, expected] : {std::pair(0.0, 0), {0.25, 15}, {0.5, 30}, {1.0, 30}}) {
    const auto policy =
        hot_cold_after_prompt(fmt::format("{{policy: hot_cold, hot_share: {}}}", share), 60);
    BlockId hot = 0;
    for (LayerId l = 0; l < kLayers; ++l) {
      ASSERT_NE(policy->always_computed(l), nullptr);
      policy->always_computed(l)->for_each([&](BlockId b) { EXPECT_LT(b, 10); });
      hot += policy->always_computed(l)->count();
    }
    EXPECT_EQ(hot, expected) << share;
  }
}

TEST(Cache, HotColdGivesUpColdBlocksByLastUseAndHotOnesLast) {
  const auto policy = hot_cold_after_prompt("{policy: hot_cold, hot_share: 50%}", 60);
  policy->inserted(1, set_of({69}), 10 * kLayers + 1);
  BlockSet all(kBlocks);
  for (const BlockId b : {0, 9, 20, 38, 69}) all.set(b);
  const std::vector<BlockSet> evictable{BlockSet(kBlocks), all, BlockSet(kBlocks)};
  std::vector<BlockRef> out;
  policy->victims({evictable, 1}, 4, out);
  EXPECT_EQ(out, (std::vector<BlockRef>{{1, 20}, {1, 38}, {1, 69}, {1, 0}}));
}

// Where tokens share half of their blocks those are worth a place; where they share none, none is.
TEST(Cache, HotColdSearchesItsShareOnThePrompt) {
  const auto shared = hot_cold_after_prompt("hot_cold", 60);
  BlockId hot = 0;
  for (LayerId l = 0; l < kLayers; ++l) hot += shared->always_computed(l)->count();
  EXPECT_EQ(hot % 6, 0) << "a tenth of 60 slots";
  const auto apart = make("hot_cold", 60, 7);
  for (LayerId l = 0; l < kLayers; ++l) {
    for (TokenId t = 0; t < 7; ++t) {
      BlockSet used(kBlocks);
      for (BlockId b = 10 * t; b < 10 * t + 10; ++b) used.set(b);
      apart->used(l, used, t * kLayers + l);
    }
  }
  apart->prompt_ended();
  for (LayerId l = 0; l < kLayers; ++l) EXPECT_TRUE(apart->always_computed(l)->empty());
  EXPECT_THROW(make("hot_cold", 60), UserError);
}

TEST(Registry, UnknownNamesListTheValidOnesAndTheNearest) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document("{policy: lfuu}", "x.yaml", diagnostics);
  Registry<CachePolicy>::instance().choose(document.root, diagnostics);
  EXPECT_NE(diagnostics.text().find("x.yaml:1:10"), std::string::npos) << diagnostics.text();
  EXPECT_NE(diagnostics.text().find("did you mean 'lfu'?"), std::string::npos);
  EXPECT_NE(diagnostics.text().find("lfu, lfu_aging, lfu_in_cache, lru, pinned"),
            std::string::npos);
}

TEST(RegistryDeathTest, ADuplicateNameEndsTheProgram) {
  struct Twin final : CachePolicy {
    using Parameters = NoParameters;
    static const config::Table<Parameters>& table() { return NoParameters::table(); }
    Twin(const Context&, const Parameters&) {}
    void victims(const CacheView&, BlockId, std::vector<BlockRef>&) const override {}
  };
  EXPECT_EXIT(Registry<CachePolicy>::instance().add<Twin>("lru", "again"),
              testing::ExitedWithCode(70), "two cache policies are named 'lru'");
}

}  // namespace
}  // namespace leanstream::policy
