// Every cache policy against a naive one, step by step, on random and recorded sets.
#include <functional>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/traces/naive_policies.h"
#include "traces/cache_replay.h"
#include "traces/miss_ratio.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

constexpr std::int64_t kFewestAccesses = 100'000;

std::string sample() {
  return std::string(LEANSTREAM_SOURCE_DIR) + "/traces/samples/genesis-smollm2-135m.safetensors";
}

// Hot and cold blocks, half of which a token shares with the one before.
SetSequence random_sets() {
  RandomStream random(1, "test.replay");
  SetSequence sets(2000, 3, 96);
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      for (BlockId b = 0; b < sets.ffn(); ++b) {
        const bool stays = t > 0 && sets.at(t - 1, l).test(b) && random.next_below(2) == 0;
        const auto hotness = static_cast<std::uint64_t>(b % 16);
        if (stays || random.next_below(24) < hotness / 2) sets.at(t, l).set(b);
      }
    }
  }
  return sets;
}

// Three layers of a recorded trace.
SetSequence recorded_sets(const Trace& trace) {
  const auto all = active_sets(trace, 0.2);
  SetSequence sets(all.tokens(), 3, all.ffn());
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < 3; ++l) sets.at(t, l) = all.at(t, l * 14);
  }
  return sets;
}

struct Pair {
  const char* policy;  // as in a system file
  std::function<std::unique_ptr<NaivePolicy>(const NaiveShape&)> naive;
};

template <typename T, typename... Arguments>
std::function<std::unique_ptr<NaivePolicy>(const NaiveShape&)> naive(Arguments... arguments) {
  return [=](const NaiveShape& shape) { return std::make_unique<T>(shape, arguments...); };
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      {"lru", naive<NaiveLru>()},
      {"fifo", naive<NaiveFifo>()},
      {"clock", naive<NaiveClock>()},
      {"sieve", naive<NaiveSieve>()},
      {"s3fifo", naive<NaiveS3Fifo>()},
      {"lfu", naive<NaiveLfu>(false)},
      {"lfu_in_cache", naive<NaiveLfu>(true)},
      {"{policy: lfu_aging, halve_every: 20}", naive<NaiveLfu>(false, 20)},
      {"arc", naive<NaiveArc>()},
      {"wtinylfu", naive<NaiveWTinyLfu>()},
      {"static_hot", naive<NaiveStaticHot>()},
      {"{policy: window, tokens: 3}", naive<NaiveWindow>()},
      {"{policy: hot_cold, hot_share: 25%}", naive<NaiveHotCold>()},
      {"belady", naive<NaiveBelady>()},
  };
  return all;
}

class Replay : public testing::TestWithParam<Pair> {};

struct Totals {
  std::int64_t accesses = 0;
  std::int64_t misses = 0;
};

void expect_equal(const Pair& pair, const SetSequence& sets, SlotId slots, TokenId prompt,
                  Lookup lookup, Totals& totals) {
  class Known final : public policy::Future {
   public:
    explicit Known(const SetSequence& of) : of_(of) {}
    TokenId tokens() const override { return of_.tokens(); }
    BlockSet wanted(TokenId t, LayerId l) const override { return of_.at(t, l); }

   private:
    const SetSequence& of_;
  } future(sets);
  const auto policy =
      cache_choice(pair.policy).make({sets.layers(), sets.ffn(), slots, prompt, &future});
  CacheReplay cache(*policy, sets.layers(), sets.ffn(), slots);
  const NaiveShape shape{sets, slots, prompt};
  const auto naive_policy = pair.naive(shape);
  NaiveCache naive_cache(*naive_policy, shape);
  StepId step = 0;
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    if (t == prompt) {
      cache.end_prompt(step);
      naive_cache.end_prompt(static_cast<int>(step));
    }
    for (LayerId l = 0; l < sets.layers(); ++l, ++step) {
      std::vector<int> ids;
      sets.at(t, l).for_each([&](BlockId b) { ids.push_back(l * sets.ffn() + b); });
      const bool as_set = lookup == Lookup::set;
      const int missed =
          as_set ? cache.use(l, sets.at(t, l), step) : cache.use_one_by_one(l, sets.at(t, l), step);
      const int expected = as_set ? naive_cache.use(l, ids, static_cast<int>(step))
                                  : naive_cache.use_one_by_one(l, ids, static_cast<int>(step));
      ASSERT_EQ(missed, expected) << "token " << t << " layer " << l << " by set " << as_set;
      ASSERT_LE(cache.held(), slots);
      totals.misses += missed;
      totals.accesses += std::ssize(ids);
    }
  }
}

TEST_P(Replay, EqualsTheNaivePolicyOnRandomSets) {
  const auto sets = random_sets();
  for (const Lookup lookup : {Lookup::set, Lookup::access}) {
    for (const SlotId slots : {40, 72, 150}) {  // smaller than a set, a quarter, a half
      Totals totals;
      expect_equal(GetParam(), sets, slots, 30, lookup, totals);
      if (HasFatalFailure()) return;
      EXPECT_GE(totals.accesses, kFewestAccesses);
      EXPECT_LT(totals.misses, totals.accesses);
    }
  }
}

TEST_P(Replay, EqualsTheNaivePolicyOnARecordedTrace) {
  const Trace trace(sample());
  const auto sets = recorded_sets(trace);
  for (const Lookup lookup : {Lookup::set, Lookup::access}) {
    Totals totals;
    expect_equal(GetParam(), sets, static_cast<SlotId>(sets.neurons() / 4), 40, lookup, totals);
    if (HasFatalFailure()) return;
    EXPECT_GE(totals.accesses, kFewestAccesses);
    EXPECT_LT(totals.misses, totals.accesses);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Replay, testing::ValuesIn(pairs()), [](const auto& of) {
  std::string name;
  for (const char c : std::string(of.param.policy)) {
    if (c == ',' || c == '}') break;
    if (std::isalnum(c) != 0 || c == '_') name += c;
  }
  return name.starts_with("policy") ? name.substr(6) : name;
});

}  // namespace
}  // namespace leanstream::traces
