// Every cache policy against a naive one, step by step, on random and recorded sets.
#include <functional>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/base/atomic_file.h"
#include "engine/base/random.h"
#include "tests/traces/naive_policies.h"
#include "tests/traces/naive_queues.h"
#include "tests/traces/small_trace.h"
#include "traces/access_log.h"
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

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.policy;
}

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

// belady looks past a prompt, which a run computes as a whole.
TokenId prompt_of(const Pair& pair) {
  return pair.policy == std::string("belady") ? 0 : 30;
}

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
      expect_equal(GetParam(), sets, slots, prompt_of(GetParam()), lookup, totals);
      if (HasFatalFailure()) return;
      EXPECT_GE(totals.accesses, kFewestAccesses);
      EXPECT_LT(totals.misses, totals.accesses + (slots > 40 ? 0 : 1));
    }
  }
}

TEST_P(Replay, EqualsTheNaivePolicyOnARecordedTrace) {
  const Trace trace(sample());
  const auto sets = recorded_sets(trace);
  for (const Lookup lookup : {Lookup::set, Lookup::access}) {
    Totals totals;
    expect_equal(GetParam(), sets, static_cast<SlotId>(sets.neurons() / 4), prompt_of(GetParam()),
                 lookup, totals);
    if (HasFatalFailure()) return;
    EXPECT_GE(totals.accesses, kFewestAccesses);
    EXPECT_LT(totals.misses, totals.accesses);
  }
}

// The one-pass forms against the policy objects, and the bound below everything.
TEST(Misses, OnePassesAgreeWithReplaysAndNothingBeatsTheBound) {
  const Trace trace(sample());
  const BlockAccesses accesses = block_accesses(trace, 0.2, 1);
  const BlockAccesses three{recorded_sets(trace), accesses.units};
  const std::vector<SlotId> sizes{400, 1152, 2304, 4000};
  for (const scheduler::Scope scope :
       {scheduler::Scope::shared, scheduler::Scope::even, scheduler::Scope::by_miss_curve}) {
    for (const Lookup lookup : {Lookup::set, Lookup::access}) {
      const ReplayRules rules{scope, lookup, 60};
      const auto bound = misses(cache_choice("belady"), three, sizes, rules);
      const auto lru = misses(cache_choice("lru"), three, sizes, rules);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(lru[i], replay(cache_choice("lru"), three, sizes[i], rules)) << sizes[i];
      }
      for (const char* name :
           {"lru", "lfu", "lfu_in_cache", "lfu_aging", "fifo", "clock", "sieve", "s3fifo", "arc",
            "wtinylfu", "static_hot", "window", "hot_cold", "importance_ewma",
            "{policy: static_hot, hindsight: true, share: 1}"}) {
        const auto missed = misses(cache_choice(name), three, std::span(sizes).first(3), rules);
        for (std::size_t i = 0; i < missed.size(); ++i) EXPECT_GE(missed[i], bound[i]) << name;
      }
    }
  }
}

// What /traces/README.md says of real traces, on the recorded sample at density 0.2.
TEST(Misses, PoliciesAreInTheKnownOrderOnTheRecordedSample) {
  const Trace trace(sample());
  const BlockAccesses accesses = block_accesses(trace, 0.2, 1);
  const auto ratio = [&](const char* policy, double share, Lookup lookup, scheduler::Scope scope) {
    const auto slots =
        static_cast<SlotId>(share * static_cast<double>(accesses.sets.neurons()) + 0.5);
    const ReplayRules rules{scope, lookup, 1};  // hindsight is of what follows a prompt
    const auto missed = misses(cache_choice(policy), accesses, std::span(&slots, 1), rules);
    return static_cast<double>(missed.front()) / static_cast<double>(wanted_from(accesses.sets, 1));
  };
  using Order = std::vector<const char*>;  // fewest misses first
  for (const auto& [share, order] :
       {std::pair(0.25, Order{"belady", "{policy: static_hot, hindsight: true, share: 1}", "lfu",
                              "s3fifo", "lru", "arc", "fifo", "sieve"}),
        std::pair(0.5, Order{"belady", "{policy: static_hot, hindsight: true, share: 1}", "lfu",
                             "s3fifo", "arc", "lru", "sieve", "fifo"})}) {
    double before = 0;
    for (const char* policy : order) {
      const double now = ratio(policy, share, Lookup::access, scheduler::Scope::shared);
      EXPECT_GT(now, before) << policy << " at " << share;
      before = now;
    }
    // Where there are so few tokens, what W-TinyLFU's window knows of the newest can be worth more
    // than counts.
    EXPECT_LT(ratio("wtinylfu", share, Lookup::access, scheduler::Scope::shared),
              ratio("s3fifo", share, Lookup::access, scheduler::Scope::shared));
    EXPECT_LT(ratio("lru", share, Lookup::set, scheduler::Scope::even),
              ratio("lru", share, Lookup::set, scheduler::Scope::shared));
  }
}

// What libCacheSim counted on the exported sample: traces/compare_libcachesim.py wrote the file.
TEST(Misses, AreThoseOfAPublicSimulator) {
  const auto expected = nlohmann::json::parse(
      read_file(std::string(LEANSTREAM_SOURCE_DIR) + "/traces/samples/libcachesim.json"));
  const Trace trace(sample());
  const auto accesses = block_accesses(trace, expected.at("density").get<double>(), 1);
  EXPECT_EQ(wanted_from(accesses.sets, 0), expected.at("wanted").get<std::int64_t>());
  const auto slots = expected.at("slots").get<std::vector<SlotId>>();
  for (const auto& [policy, misses_of_simulator] : expected.at("misses").items()) {
    EXPECT_EQ(misses(cache_choice(policy), accesses, slots, {.lookup = Lookup::access}),
              misses_of_simulator.get<std::vector<std::int64_t>>())
        << policy;
  }
  EXPECT_EQ(expected.at("misses").size(), 4U);
}

TEST(AccessLog, OfASmallSequenceIsAsDocumented) {
  SetSequence sets(2, 2, 3);
  for (const auto& [t, l, b] : {std::tuple(0, 0, 2), {0, 1, 0}, {0, 1, 1}, {1, 0, 2}}) {
    sets.at(t, l).set(b);
  }
  const TemporaryFolder folder;
  EXPECT_EQ(write_accesses(sets, AccessFormat::csv, folder.file("a.csv")), 4);
  EXPECT_EQ(read_file(folder.file("a.csv")),
            "time,token,layer,block,size\n0,0,0,2,1\n1,0,1,0,1\n2,0,1,1,1\n3,1,0,2,1\n");
  EXPECT_EQ(write_accesses(sets, AccessFormat::oracle_general, folder.file("a.bin")), 4);
  const std::string bytes = read_file(folder.file("a.bin"));
  ASSERT_EQ(bytes.size(), 4U * 24);
  std::string expected;
  for (const auto& [time, id, next] : {std::tuple(0, 3, 3), {0, 4, -1}, {0, 5, -1}, {1, 3, -1}}) {
    expected += {static_cast<char>(time), 0, 0, 0, static_cast<char>(id), 0, 0, 0, 0, 0, 0, 0};
    expected += {1, 0, 0, 0, static_cast<char>(next)};
    expected += std::string(7, next < 0 ? '\xff' : '\0');
  }
  EXPECT_EQ(bytes, expected);
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
