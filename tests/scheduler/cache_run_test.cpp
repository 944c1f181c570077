// Whole runs that only differ in their cache, and what was known of them before.
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/scheduler/belady.h"
#include "engine/scheduler/future_sets.h"
#include "engine/scheduler/timing.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

// Reads what is missing when its set is known, and nothing else; no prompt, so it starts empty.
SmallRun on_demand(const std::string& cache, SlotId slots, std::uint64_t seed) {
  SmallRun run;
  run.tokens = 40;
  run.prompt_tokens = 0;
  run.ffn = 48;
  run.density = 0.3;
  run.slots = slots;
  run.seed = seed;
  run.cache = cache;
  run.loader = "on_demand";
  run.controller = "{policy: static, omega_io: 8, omega_gpu: 8}";
  run.run();
  EXPECT_EQ(run.failure, "");
  return run;
}

std::int64_t bound_of(const SmallRun& run, SlotId slots) {
  const auto blocks = run.spec().geometry.blocks_per_layer;
  BeladyBound bound(run.layers, blocks);
  for (std::size_t i = 0; i < run.final_sets.size(); ++i) {
    bound.add(static_cast<LayerId>(i % static_cast<std::size_t>(run.layers)), run.final_sets[i]);
  }
  return bound.misses(slots);
}

TEST(CacheRun, NoCacheReadsLessThanBeladyAndBeladyKeepsToItsBounds) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const SlotId slots : {14, 24, 40, 60}) {
      const SmallRun belady = on_demand("belady", slots, seed);
      const std::int64_t reads = belady.metrics.decode.blocks_read;
      EXPECT_EQ(belady.metrics.decode.demand_misses, reads);
      // The bound may leave out what is not worth keeping; a run must take it in, so that a layer's
      // wanted blocks are missing elsewhere.
      const BlockId wanted = Selection::wanted_count(belady.spec());
      EXPECT_GE(reads, bound_of(belady, slots)) << slots;
      EXPECT_LE(reads, bound_of(belady, slots - wanted)) << slots;
      for (const char* cache :
           {"lru", "lfu", "{policy: window, tokens: 1}", "{policy: window, tokens: 4}", "pinned",
            "{policy: pinned, share: 0}"}) {
        EXPECT_LE(reads, on_demand(cache, slots, seed).metrics.decode.blocks_read)
            << cache << " " << slots;
      }
    }
  }
}

// All of the prompt's uses count, so the choice at the end of prefill is Belady's too.
TEST(CacheRun, BeladyKeepsOfThePromptWhatTheDecodedTokensNeedFirst) {
  for (const SlotId slots : {14, 24, 40}) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t belady = 0;
    for (const char* cache : {"lru", "lfu", "window", "pinned", "belady"}) {
      SmallRun run;
      run.tokens = 20, run.prompt_tokens = 8, run.ffn = 48, run.density = 0.3, run.slots = slots;
      run.cache = cache, run.loader = "on_demand";
      run.controller = "{policy: static, omega_io: 8, omega_gpu: 8}";
      run.run();
      belady = run.metrics.decode.blocks_read;
      if (run.cache != "belady") least = std::min(least, belady);
    }
    EXPECT_LE(belady, least) << slots;
  }
}

TEST(CacheRun, WithoutARecordedFutureBeladyIsRefused) {
  EXPECT_THROW(make_policy<policy::CachePolicy>("belady", {.layers = 1, .blocks_per_layer = 4}),
               UserError);
}

struct TimingCase {
  const char* name;
  const char* predictor;
  const char* controller;
  FinalAt final_at;
  Timing timing;
};

class FutureTest : public testing::TestWithParam<TimingCase> {};

// What is foretold is what a run computes; of the prompt, what each token used.
TEST_P(FutureTest, ForetellsTheFinalSetsOfARun) {
  const TimingCase& c = GetParam();
  SmallRun run;
  run.tokens = 12;
  run.prompt_tokens = 3;
  run.ffn = 40;
  run.predictor = c.predictor;
  run.controller = c.controller;
  run.final_at = c.final_at;
  run.cache = "lfu";
  run.slots = 44;
  run.run();
  ASSERT_EQ(run.failure, "");

  const RunSpec spec = run.spec();
  const model::Activations* activations = run.activations.get();
  const auto predictor = make_policy<policy::Predictor>(c.predictor, {activations, run.seed});
  const auto controller = make_policy<policy::Controller>(
      c.controller, {run.layers, spec.geometry.blocks_per_layer, spec.geometry.block_neurons});
  const Policies policies{predictor.get(), nullptr, controller.get(), nullptr, activations};
  EXPECT_EQ(timing_of(spec, policies), c.timing);
  const FutureSets future(spec, policies);
  EXPECT_EQ(future.tokens(), run.tokens);
  std::size_t i = 0;
  for (TokenId t = run.prompt_tokens; t < run.tokens; ++t) {
    for (LayerId l = 0; l < run.layers; ++l) {
      EXPECT_EQ(future.wanted(t, l), run.final_sets[i++]) << "token " << t << " layer " << l;
    }
  }
  EXPECT_EQ(i, run.final_sets.size());

  Selection selection(spec, *activations);
  BlockScores truth(spec.geometry.blocks_per_layer);
  selection.choose(2, 1, activations->importance(2, 1), nullptr, truth);
  if (c.timing == Timing::known) truth.wanted.fill();
  EXPECT_EQ(future.wanted(2, 1), truth.wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Timings, FutureTest,
    testing::Values(TimingCase{"known", "all", "{policy: static}", FinalAt::residual,
                               Timing::known},
                    TimingCase{"residual", "statistical", "{policy: static}", FinalAt::residual,
                               Timing::residual},
                    TimingCase{"own_input", "statistical", "{policy: static}", FinalAt::own_input,
                               Timing::own_input},
                    TimingCase{"one_shot_ahead", "statistical", "one_shot_ahead",
                               FinalAt::own_input, Timing::one_shot_ahead},
                    TimingCase{"one_shot_at_input", "statistical", "one_shot_at_input",
                               FinalAt::residual, Timing::own_input}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace leanstream::scheduler
