// The scheduler's small parts against naive ones.
#include <algorithm>
#include <list>
#include <map>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/scheduler/event_tail.h"
#include "engine/scheduler/first_layer.h"
#include "engine/scheduler/histogram.h"
#include "engine/scheduler/quotas.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

BlockSet set_of(BlockId size, std::initializer_list<BlockId> blocks) {
  BlockSet set(size);
  for (const BlockId b : blocks) set.set(b);
  return set;
}

// Every block with a probability of its own, so that some are used again and again.
BlockSet skewed_set(RandomStream& random, BlockId size) {
  BlockSet set(size);
  for (BlockId b = 0; b < size; ++b) {
    if (random.next_below(static_cast<std::uint64_t>(b) + 2) == 0) set.set(b);
  }
  return set;
}

std::int64_t hits_up_to(const StackDistances& distances, SlotId size) {
  std::int64_t hits = 0;
  for (SlotId s = 0; s <= size; ++s) hits += distances.hits()[static_cast<std::size_t>(s)];
  return hits;
}

// One block at a time: a list, moved to its front at each use.
TEST(StackDistances, OfSingleBlocksAgreeWithAListForEverySize) {
  constexpr BlockId kBlocks = 12;
  RandomStream random(3, "test.distances");
  StackDistances distances(1, kBlocks);
  std::map<SlotId, std::list<BlockId>> lists;
  std::map<SlotId, std::int64_t> hits;
  for (int i = 0; i < 2000; ++i) {
    const auto b = static_cast<BlockId>(random.next_below(random.next_below(kBlocks) + 1));
    distances.add(0, set_of(kBlocks, {b}), i);
    for (SlotId size = 1; size <= kBlocks; ++size) {
      auto& list = lists[size];
      const auto found = std::find(list.begin(), list.end(), b);
      if (found != list.end()) {
        ++hits[size];
        list.erase(found);
      }
      list.push_front(b);
      if (list.size() > static_cast<std::size_t>(size)) list.pop_back();
    }
  }
  for (SlotId size = 1; size <= kBlocks; ++size) {
    EXPECT_EQ(hits_up_to(distances, size), hits[size]) << size;
  }
  EXPECT_GT(hits[4], hits[2]);
}

// Sets of two layers that share a cache: the blocks used last are in it, of one use the higher ones
// first; looked up as a set before the use, or block by block.
TEST(StackDistances, OfSetsAgreeWithAListOfBlocksByLastUse) {
  constexpr BlockId kBlocks = 70;
  constexpr LayerId kLayers = 2;
  for (const bool as_set : {true, false}) {
    RandomStream random(4, "test.distances");
    StackDistances distances(kLayers, kBlocks);
    std::vector<std::pair<LayerId, BlockId>> list;  // newest first
    std::vector<std::int64_t> hits(kLayers * kBlocks + 1);
    for (StepId step = 0; step < 2500; ++step) {
      const auto layer = static_cast<LayerId>(step % kLayers);
      const BlockSet used = skewed_set(random, kBlocks);
      auto looked_up = list;
      used.for_each([&](BlockId b) {
        const std::pair<LayerId, BlockId> ref{layer, b};
        const auto& searched = as_set ? looked_up : list;
        const auto at = std::find(searched.begin(), searched.end(), ref) - searched.begin();
        if (at < std::ssize(searched)) ++hits[static_cast<std::size_t>(at) + 1];
        std::erase(list, ref);
        list.insert(list.begin(), ref);
        if (!as_set) distances.add(layer, b, step);
      });
      if (as_set) distances.add(layer, used, step);
      if (step == 1000) {
        distances.forget_counts();
        std::fill(hits.begin(), hits.end(), 0);
      }
    }
    EXPECT_EQ(distances.hits(), hits);
    EXPECT_EQ(distances.misses(30), distances.uses() - hits_up_to(distances, 30));
  }
}

TEST(Quotas, EvenGivesTheFirstLayersWhatDoesNotDivide) {
  const Quotas quotas(Scope::even, 4, 9, 30, 2);
  EXPECT_EQ(quotas.of(0), 8);
  EXPECT_EQ(quotas.of(1), 8);
  EXPECT_EQ(quotas.of(2), 7);
  EXPECT_EQ(quotas.of(3), 7);
  EXPECT_EQ(Quotas(Scope::even, 4, 9, 100, 2).of(0), 9) << "no more than there are blocks";
  EXPECT_TRUE(Quotas(Scope::shared, 4, 9, 30, 2).shared());
}

// Layer 0 uses the same block again and again, layer 1 six in turn: nothing below six slots hits.
TEST(Quotas, ByMissCurveLooksAheadOverAPlateau) {
  Quotas quotas(Scope::by_miss_curve, 2, 10, 9, 1);
  for (BlockId i = 0; i < 30; ++i) {
    quotas.prompt_used(0, set_of(10, {3}));
    quotas.prompt_used(1, set_of(10, {i % 6}));
  }
  quotas.fix();
  EXPECT_EQ(quotas.of(1), 7) << "six, and one of the two that nobody needs";
  EXPECT_EQ(quotas.of(0), 2);
}

TEST(Quotas, ByMissCurveSpendsAllAndHitsNearlyAsOftenAsTheBestSplit) {
  constexpr BlockId kBlocks = 24;
  constexpr SlotId kSlots = 26;
  constexpr SlotId kSmallest = 3;
  RandomStream random(9, "test.quotas");
  for (int round = 0; round < 20; ++round) {
    Quotas quotas(Scope::by_miss_curve, 2, kBlocks, kSlots, kSmallest);
    std::vector<StackDistances> distances(2, StackDistances(1, kBlocks));
    for (int use = 0; use < 200; ++use) {
      for (LayerId l = 0; l < 2; ++l) {
        const auto width = l == 0 ? 1 + static_cast<std::uint64_t>(round) : 24;
        const auto b = static_cast<BlockId>(random.next_below(random.next_below(width) + 1));
        quotas.prompt_used(l, set_of(kBlocks, {b}));
        distances[static_cast<std::size_t>(l)].add(0, set_of(kBlocks, {b}), use);
      }
    }
    quotas.fix();
    EXPECT_EQ(quotas.of(0) + quotas.of(1), kSlots);
    EXPECT_GE(std::min(quotas.of(0), quotas.of(1)), kSmallest);
    std::int64_t best = 0;
    for (SlotId first = kSmallest; first <= kSlots - kSmallest; ++first) {
      best = std::max(best, hits_up_to(distances[0], std::min(first, kBlocks)) +
                                hits_up_to(distances[1], std::min(kSlots - first, kBlocks)));
    }
    const std::int64_t hits =
        hits_up_to(distances[0], quotas.of(0)) + hits_up_to(distances[1], quotas.of(1));
    EXPECT_GE(static_cast<double>(hits), 0.98 * static_cast<double>(best)) << round;
  }
}

TEST(Histogram, PercentilesAreTheNearestRankWithinASixtyFourth) {
  RandomStream random(5, "test.histogram");
  for (const std::uint64_t most : {100ULL, 5'000ULL, 3'000'000'000ULL}) {
    Histogram histogram;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 5000; ++i) {
      values.push_back(static_cast<std::int64_t>(random.next_below(random.next_below(most) + 1)));
      histogram.add(values.back());
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(histogram.count(), 5000);
    for (const double share : {0.0002, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * 5000)));
      const auto exact = static_cast<double>(values[rank - 1]);
      const double tolerance = exact < 128 ? 0 : exact / 64;
      EXPECT_NEAR(histogram.percentile(share), exact, tolerance) << most << " " << share;
    }
  }
}

TEST(Histogram, HoldsTheLargestValueAndForgets) {
  Histogram histogram;
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(histogram.percentile(1), 1e14) << "two days in ns, at least";
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_DEATH(histogram.percentile(0.5), "a percentile of nothing");
  EXPECT_DEATH(histogram.add(-1), "value -1");
}

TEST(FirstLayer, PreviousTokenGuessesTheLastSetAndItsPriority) {
  FirstLayer first(LayerZero::previous_token, 4);
  const std::vector<std::uint8_t> priority{1, 9, 7, 3};
  first.used(set_of(4, {0, 3}), std::vector<std::uint8_t>{4, 4, 4, 4});
  first.used(set_of(4, {1, 2}), priority);
  BlockSet guess(4);
  std::vector<std::uint8_t> guessed(4);
  first.guess(guess, guessed);
  EXPECT_EQ(guess, set_of(4, {1, 2}));
  EXPECT_EQ(guessed, priority);
}

TEST(FirstLayer, HottestGuessesAsManyAsTheLastTokenWantedMostUsedFirst) {
  FirstLayer first(LayerZero::hottest, 5);
  const std::vector<std::uint8_t> priority(5, 1);
  for (const auto& set : {set_of(5, {4}), set_of(5, {4, 2}), set_of(5, {4, 3}), set_of(5, {1, 2})})
    first.used(set, priority);
  BlockSet guess(5);
  std::vector<std::uint8_t> guessed(5);
  first.guess(guess, guessed);
  EXPECT_EQ(guess, set_of(5, {2, 4}));  // 3 uses of block 4, 2 of block 2, 1 of 1 and 3
  EXPECT_EQ(guessed, (std::vector<std::uint8_t>{0, 85, 170, 85, 255}));
}

TEST(EventTail, KeepsTheNewestAndSaysWhatFailed) {
  EventTail tail;
  for (TicketId t = 1; t <= 100; ++t) {
    tail.add(static_cast<TimeNs>(t), {.ticket = t, .kind = CommandKind::cancel, .layer = 3});
  }
  tail.add({.ticket = 100, .time_ns = 777, .status = Status::failed}, CommandKind::cancel, 3);
  const std::string text = tail.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 48);
  EXPECT_NE(text.find("100 cancel layer 3"), std::string::npos) << text;
  EXPECT_NE(text.find("777"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED"), std::string::npos) << text;
}

}  // namespace
}  // namespace leanstream::scheduler
