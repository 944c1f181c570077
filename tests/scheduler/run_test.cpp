// Whole runs of small models: what must hold whatever the policies, budgets and device speeds.
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

SmallRun dense() {
  SmallRun run;
  run.predictor = "all";
  run.cache = "pinned";
  run.controller = "{policy: static, omega_io: 1, omega_gpu: 1}";
  run.loader = "stream";
  return run;
}

SmallRun llm_in_a_flash() {
  SmallRun run;
  run.cache = "window";
  run.controller = "{policy: static, omega_io: 1, omega_gpu: 1}";
  run.loader = "on_demand";
  run.final_at = FinalAt::own_input;
  return run;
}

SmallRun dejavu() {
  SmallRun run;
  run.cache = "{policy: pinned, share: 0}";
  run.controller = "one_shot_ahead";
  run.loader = "after_prediction";
  return run;
}

SmallRun leanstream() {
  SmallRun run;
  run.cache = "lfu";
  return run;
}

std::vector<std::pair<std::string, SmallRun>> systems() {
  return {{"dense", dense()},
          {"llm_in_a_flash", llm_in_a_flash()},
          {"dejavu", dejavu()},
          {"leanstream", leanstream()}};
}

constexpr BlockId kAllBlocks = 3 * 8;

TEST(Run, FullBudgetReadsNothingAfterPrefill) {
  for (auto& [name, run] : systems()) {
    run.slots = kAllBlocks;
    run.run();
    EXPECT_EQ(run.failure, "") << name;
    if (name == "dejavu") {
      EXPECT_EQ(run.metrics.decode.blocks_read, run.metrics.decode.blocks_wanted);
    } else {
      EXPECT_EQ(run.metrics.decode.blocks_read, 0) << name;
    }
  }
}

TEST(Run, DejavuReadsItsPredictedSetAtEveryBudget) {
  for (const SlotId slots : {10, 14, 18, 24}) {
    SmallRun run = dejavu();
    run.slots = slots;
    run.run();
    EXPECT_EQ(run.metrics.decode.blocks_read, run.metrics.decode.blocks_wanted) << slots;
    EXPECT_EQ(run.metrics.decode.demand_misses, run.metrics.decode.blocks_wanted) << slots;
  }
}

TEST(Run, EveryWantedBlockIsComputedOnceAndAfterItWasReleasedIntoItsSlot) {
  for (auto& [name, run] : systems()) {
    for (const SlotId slots : {17, 24}) {
      run.slots = slots;
      run.run();
      std::int64_t released = 0;
      for (const auto& line : run.transcript) {
        const bool decode = line.starts_with("release") && line.find(" t0-1 ") == std::string::npos;
        released += decode ? std::count(line.begin(), line.end(), '>') : 0;
      }
      EXPECT_EQ(released, run.metrics.decode.blocks_wanted) << name << " " << slots;
      EXPECT_EQ(run.metrics.tokens.size(), 4U) << name;
      EXPECT_LE(run.metrics.slots_used_peak, slots) << name;
    }
  }
}

TEST(Run, PrefillReadsEachBlockThatIsNotThereOnce) {
  SmallRun run = leanstream();
  run.slots = 17;
  run.run();
  std::multiset<std::string> seen;
  for (const auto& line : run.transcript) {
    if (!line.starts_with("read") || line.find(" t0-1 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string word, layer;
    words >> word >> layer;
    while (words >> word) {
      const auto end = word.find('>');
      if (end != std::string::npos) seen.insert(layer + " " + word.substr(0, end));
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kAllBlocks));
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_EQ(run.metrics.prefill_bytes_read, kAllBlocks * run.spec().geometry.block_bytes);
}

TEST(Run, EqualRunsGiveEqualCommands) {
  for (auto& [name, run] : systems()) {
    SmallRun again = run;
    run.run();
    again.run();
    EXPECT_EQ(run.hash, again.hash) << name;
    EXPECT_EQ(run.transcript, again.transcript) << name;
  }
}

// What timing may change is what is prefetched, never what is computed.
TEST(Run, TimingDoesNotChangeTheFinalSets) {
  for (auto& [name, run] : systems()) {
    SmallRun slow = run;
    slow.costs = {5000, 700, 1, 1, 1, 900};
    run.run();
    slow.run();
    EXPECT_EQ(run.metrics.decode.blocks_wanted, slow.metrics.decode.blocks_wanted) << name;
    EXPECT_EQ(run.metrics.decode.importance_share, slow.metrics.decode.importance_share) << name;
  }
}

TEST(Run, PhasesAddUpToTheTimeOfDecode) {
  for (auto& [name, run] : systems()) {
    run.run();
    TimeNs sum = 0;
    for (const TimeNs ns : run.metrics.decode.phase_ns) sum += ns;
    EXPECT_EQ(sum, run.metrics.end_ns - run.metrics.prefill_end_ns) << name;
    EXPECT_LE(run.metrics.decode.both_busy_ns, run.metrics.decode.io_busy_ns) << name;
  }
}

TEST(Run, ABudgetBelowTheSmallestIsRefusedWithThatFigure) {
  SmallRun run = llm_in_a_flash();  // segment 4 + part 4 + depth 1
  run.slots = 8;
  try {
    run.run();
    FAIL() << "8 slots were accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("need 9 blocks"));
  }
  run.slots = 9;
  run.run();
  EXPECT_EQ(run.failure, "");
}

TEST(Run, AFailedReadEndsTheRunWithTheResultsSoFar) {
  SmallRun run = leanstream();
  run.slots = 17;
  run.run();
  const auto reads = std::count_if(run.transcript.begin(), run.transcript.end(),
                                   [](const auto& line) { return line.starts_with("read"); });
  ASSERT_GT(reads, 4);
  SmallRun failing = leanstream();
  failing.slots = 17;
  failing.fail_ticket = 60;
  failing.run();
  EXPECT_THAT(failing.failure, testing::HasSubstr("gave up on"));
  EXPECT_LT(failing.metrics.tokens.size(), 4U);
}

TEST(Run, ASilentDeviceEndsTheRun) {
  SmallRun run = leanstream();
  run.costs.read = 120'000'000'000;  // two minutes against a patience of one
  run.run();
  EXPECT_THAT(run.failure, testing::HasSubstr("no device answered"));
}

// A run with everything drawn at random.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed, "test.cases") {}

  SmallRun next() {
    SmallRun run;
    run.seed = random_.next_u64();
    run.layers = from_to(1, 4);
    run.ffn = from_to(4, 43);
    run.block_neurons = from_to(1, 3);
    run.tokens = from_to(2, 31);
    run.prompt_tokens = from_to(0, run.tokens - 1);
    run.density = 0.05 + 0.95 * random_.next_unit();
    run.select = pick({Select::blocks, Select::neurons});
    run.final_at = pick({FinalAt::residual, FinalAt::own_input});
    run.refine = pick({false, true});
    run.compute_order = pick({ComputeOrder::priority, ComputeOrder::flash});
    run.layer0 = pick({LayerZero::previous_token, LayerZero::hottest});
    run.prefetch_limit = pick({PrefetchLimit::plan, PrefetchLimit::fits});
    run.prefetch_cancel = pick({PrefetchCancel::none, PrefetchCancel::queued});
    run.io_segment_sync = pick({IoSegmentSync::barrier, IoSegmentSync::none});
    run.publish = pick({Publish::segment, Publish::block});
    run.scope = pick({Scope::shared, Scope::shared, Scope::even, Scope::by_miss_curve});
    run.io_lanes = pick({1, 1, 2, 3});
    run.queue_depth = pick({1, 1, 2, 5});
    run.prefill_merge_blocks = pick({1, 4});
    run.read_retries = 100;
    if (const TicketId every = pick({0, 0, 7, 50}); every > 0) {
      run.unreadable = [every](TicketId ticket, std::span<const BlockId> read) {
        const bool ok = ticket % every != 0 || read.empty();
        return ok ? std::vector<BlockId>() : std::vector<BlockId>{read.back()};
      };
    }
    choose_policies(run);
    run.costs = {cost(), cost(), cost(), cost(), cost(), cost()};
    const BlockId blocks = run.spec().geometry.blocks_per_layer;
    const SlotId all = run.layers * blocks;  // nearly all of it is where late reads matter
    run.slots = pick({0, 1}) == 0 ? from_to(1, all + 8) : std::max(1, all - from_to(0, 7));
    return run;
  }

 private:
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[random_.next_below(of.size())];
  }
  std::int32_t from_to(std::int32_t first, std::int32_t last) {
    return first + static_cast<std::int32_t>(
                       random_.next_below(static_cast<std::uint64_t>(last - first) + 1));
  }
  TimeNs cost() { return from_to(1, pick({10, 30000})); }

  void choose_policies(SmallRun& run) {
    run.predictor = pick({"oracle", "statistical", "statistical", "all"});
    run.cache = pick({"lru", "lfu", "window", "pinned", "{policy: pinned, share: 0}", "belady",
                      "{policy: pinned, share: 1}", "{policy: window, tokens: 2}", "hot_cold",
                      "{policy: hot_cold, hot_share: 0.7}"});
    run.loader = pick({"stream", "on_demand", "after_prediction", "prioritised"});
    const auto omega = [&] { return from_to(1, 16); };
    switch (from_to(0, 5)) {
      case 0:
        run.controller = "one_shot_ahead";
        break;
      case 1:
        run.controller = "one_shot_at_input";
        break;
      case 2:
        run.controller = fmt::format("{{policy: clusters, cluster_neurons: {}}}", omega());
        break;
      case 3:
        run.controller = fmt::format("{{policy: static, omega_io: [{}, {}], omega_gpu: [{}, {}]}}",
                                     omega(), omega(), omega(), omega());
        break;
      default:
        run.controller =
            fmt::format("{{policy: static, omega_io: {}, omega_gpu: {}}}", omega(), omega());
    }
  }

  RandomStream random_;
};

std::string describe(const SmallRun& run, int i) {
  return fmt::format(
      "case {}: {} layers of {} neurons, k {}, {} tokens ({} prompt), density {}, {} slots, {} {} "
      "{} {} refine {} own {} layer0 {} limit {} cancel {} sync {} publish {} scope {} lanes {} "
      "depth {} merge {} errors {}",
      i, run.layers, run.ffn, run.block_neurons, run.tokens, run.prompt_tokens, run.density,
      run.slots, run.predictor, run.cache, run.loader, run.controller, run.refine,
      static_cast<int>(run.final_at), static_cast<int>(run.layer0),
      static_cast<int>(run.prefetch_limit), static_cast<int>(run.prefetch_cancel),
      static_cast<int>(run.io_segment_sync), static_cast<int>(run.publish),
      static_cast<int>(run.scope), run.io_lanes, run.queue_depth, run.prefill_merge_blocks,
      static_cast<bool>(run.unreadable));
}

// Random models, plans, budgets, device speeds and read errors: everything ends, and nothing is
// lost (run() checks conservation).
TEST(Run, RandomCasesAllEnd) {
  RandomRun random(11);
  int refused = 0;
  const int cases = 1500;
  for (int i = 0; i < cases; ++i) {
    SmallRun run = random.next();
    SCOPED_TRACE(describe(run, i));
    try {
      run.run();
      EXPECT_EQ(run.failure, "");
      EXPECT_LE(run.metrics.slots_used_peak, run.slots);
    } catch (const UserError&) {  // the budget is too small: it says so
      ++refused;
    }
  }
  EXPECT_LT(refused, cases / 2);
}

}  // namespace
}  // namespace leanstream::scheduler
