#include "traces/miss_ratio.h"

#include <chrono>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/scheduler/belady.h"
#include "tests/traces/naive_cache.h"

namespace leanstream::traces {
namespace {

// Sets in which a neuron of the last token is wanted again with probability `stay`.
SetSequence random_sets(TokenId tokens, LayerId layers, std::int32_t ffn, double density,
                        double stay, std::uint64_t seed) {
  RandomStream random(seed, "test.sets");
  SetSequence sets(tokens, layers, ffn);
  for (TokenId t = 0; t < tokens; ++t) {
    for (LayerId l = 0; l < layers; ++l) {
      for (std::int32_t j = 0; j < ffn; ++j) {
        const bool again = t > 0 && sets.at(t - 1, l).test(j);
        if (random.next_unit() < (again ? stay : density)) sets.at(t, l).set(j);
      }
    }
  }
  return sets;
}

scheduler::BeladyBound bound_of(const SetSequence& sets) {
  scheduler::BeladyBound bound(sets.layers(), sets.ffn());
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) bound.add(l, sets.at(t, l));
  }
  return bound;
}

TEST(MissRatio, EqualsTheNaiveReplays) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto sets = random_sets(14, 3, 20, 0.25, 0.5, seed);
    const auto steps = steps_of(sets);
    for (const int capacity : {1, 3, 7, 15, 30, 45, 60}) {
      for (const TokenId from : {0, 5}) {
        const auto size = static_cast<std::size_t>(capacity);
        const auto step = static_cast<std::size_t>(from * 3);
        EXPECT_EQ(misses(Replay::kLru, sets, capacity, from),
                  naive_misses(sets, size, step, false));
        EXPECT_EQ(misses(Replay::kLfu, sets, capacity, from), naive_misses(sets, size, step, true));
        EXPECT_EQ(misses(Replay::kStaticHottest, sets, capacity, from),
                  naive_static(sets, size, from));
        EXPECT_EQ(misses(Replay::kBelady, sets, capacity, from), naive_belady(steps, size, step));
      }
    }
  }
}

TEST(MissRatio, IsTheShareOfWantedNeurons) {
  SetSequence sets(2, 1, 4);
  sets.at(0, 0).set(1);
  sets.at(1, 0).set(1);
  sets.at(1, 0).set(2);
  EXPECT_DOUBLE_EQ(miss_ratio(Replay::kLru, sets, 4, 0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(miss_ratio(Replay::kLru, sets, 4, 1), 0.5);
  EXPECT_DOUBLE_EQ(miss_ratio(Replay::kLru, sets, 4, 2), 0);
}

TEST(Belady, NoSequenceOfContentsMissesLess) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const auto sets = random_sets(5, 2, 4, 0.4, 0.4, seed);
    const auto steps = steps_of(sets);
    const auto bound = bound_of(sets);
    for (int capacity = 0; capacity <= 8; ++capacity) {
      for (const std::size_t from : {0U, 4U}) {
        for (const bool warm : {false, true}) {
          EXPECT_EQ(bound.misses(capacity, static_cast<std::int64_t>(from), warm),
                    exhaustive_misses(steps, capacity, from, 8, warm))
              << seed << " " << capacity << " " << from << " " << warm;
        }
      }
    }
  }
}

TEST(Belady, CountsStepsAndAccesses) {
  scheduler::BeladyBound empty(2, 8);
  EXPECT_EQ(empty.misses(4), 0);
  EXPECT_EQ(empty.accesses(), 0);
  const auto sets = random_sets(6, 2, 70, 0.3, 0.3, 1);
  const auto bound = bound_of(sets);
  EXPECT_EQ(bound.steps(), 12);
  EXPECT_EQ(bound.misses(0), bound.accesses());
  EXPECT_EQ(bound.accesses(11), sets.at(5, 1).count());
}

TEST(Belady, ARunOf300TokensTakesUnderASecond) {
  const auto sets = random_sets(300, 30, 1152, 0.15, 0.4, 3);
  const auto start = std::chrono::steady_clock::now();
  const auto bound = bound_of(sets);
  const std::int64_t misses = bound.misses(8640, 100 * 30, true);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%.3f s for %lld accesses\n", wall.count(), static_cast<long long>(bound.accesses()));
  EXPECT_GT(misses, 0);
  EXPECT_LT(wall.count(), 1.0);  // 0.03 s alone on a core; sanitizers and neighbours are slower
}

}  // namespace
}  // namespace leanstream::traces
