// Whole runs of small models: what must hold whatever the policies, budgets and device speeds.
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/scheduler/random_run.h"

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

Choices random_choices(std::uint64_t seed) {
  return Choices([random = RandomStream(seed, "test.cases")](std::uint64_t bound) mutable {
    return random.next_below(bound);
  });
}

// Random models, plans, budgets, device speeds and read errors: everything ends, and nothing is
// lost (run() checks conservation).
TEST(Run, RandomCasesAllEnd) {
  Choices choices = random_choices(11);
  int refused = 0;
  const int cases = 1500;
  for (int i = 0; i < cases; ++i) {
    SmallRun run = draw_run(choices);
    run.read_retries = 100;
    if (const auto every = choices.pick<TicketId>({0, 0, 7, 50}); every > 0) {
      run.unreadable = [every](TicketId ticket, std::span<const BlockId> read) {
        const bool ok = ticket % every != 0 || read.empty();
        return ok ? std::vector<BlockId>() : std::vector<BlockId>{read.back()};
      };
    }
    const auto cost = [&] { return TimeNs{choices.from_to(1, choices.pick({10, 30000}))}; };
    run.costs = {cost(), cost(), cost(), cost(), cost(), cost()};
    SCOPED_TRACE(fmt::format("case {}: {}", i, describe(run)));
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

// Whatever order the devices complete commands in, and whatever goes wrong: every run ends, a
// budget that is refused comes with one that works, and the same choices give the same commands.
TEST(Run, AnyLegalOrderEnds) {
  const std::uint64_t cases = 600;
  std::uint64_t ran = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    Choices choices = random_choices(i), again = random_choices(i);
    SmallRun run = draw_run(choices), twin = draw_run(again);
    SCOPED_TRACE(fmt::format("case {}: {}", i, describe(run)));
    ran += run_in_any_order(run, choices) ? 1 : 0;
    run_in_any_order(twin, again);
    EXPECT_EQ(run.hash, twin.hash);
  }
  EXPECT_GT(ran, cases / 2);
}

// The set of n+1 may be final while n is still computed: what demand of n then evicts of it is read
// again, and is not taken for being there.
TEST(Run, DemandMayEvictWhatALaterLayerFoundResident) {
  const std::uint64_t cases = 600;
  for (std::uint64_t i = 0; i < cases; ++i) {
    Choices choices = random_choices(i);
    SmallRun run = draw_run(choices);
    run.layers = std::max(run.layers, 3);
    run.controller = "one_shot_ahead";
    run.cache = choices.pick({"static_hot", "pinned", "hot_cold"});  // much that they do not evict
    run.slots = 1;                                                   // the smallest is taken
    SCOPED_TRACE(fmt::format("case {}: {}", i, describe(run)));
    run_in_any_order(run, choices);
  }
}

}  // namespace
}  // namespace leanstream::scheduler
