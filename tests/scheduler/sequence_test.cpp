// Exact command sequences of small cases that were worked out by hand: 2 layers of 4 blocks of one
// neuron, half of them wanted, no prompt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

using testing::ElementsAre;

// Token 0 wants {0, 1} of layer 0 and {2, 3} of layer 1; token 1 wants {1, 2} and {3, 0}. Of each
// the first is the more important.
SmallRun by_hand() {
  SmallRun run;
  run.tokens = 2;
  run.prompt_tokens = 0;
  run.layers = 2;
  run.ffn = 4;
  run.block_neurons = 1;
  run.slots = 8;
  run.activations = std::make_shared<SmallActivations>(2, 2, 4);
  run.activations->set(0, 0, {200, 100, 1, 0});
  run.activations->set(0, 1, {1, 0, 200, 100});
  run.activations->set(1, 0, {0, 200, 100, 1});
  run.activations->set(1, 1, {100, 0, 1, 200});
  return run;
}

TEST(Sequence, OnDemandReadsAfterItsOwnPredictionAndComputesWhenAllIsThere) {
  SmallRun run = by_hand();
  run.loader = "on_demand";
  run.controller = "{policy: static, omega_io: 1, omega_gpu: 1}";
  run.final_at = FinalAt::own_input;
  run.refine = false;
  run.run();
  EXPECT_THAT(
      run.transcript,
      ElementsAre("attention L0 t0", "predict L0 t0 f-1", "read L0 t0: 0>0 1>1",
                  "begin_layer L0 t0", "release L0 t0 #0: 0>0 1>1", "end_layer L0 t0",
                  "attention L1 t0", "predict L1 t0 f-1", "read L1 t0: 2>2 3>3",
                  "begin_layer L1 t0", "release L1 t0 #0: 2>2 3>3", "end_layer L1 t0", "head t0",
                  // Block 1 of layer 0 and block 3 of layer 1 are still there.
                  "attention L0 t1", "predict L0 t1 f-1", "read L0 t1: 2>4", "begin_layer L0 t1",
                  "release L0 t1 #0: 1>1 2>4", "end_layer L0 t1", "attention L1 t1",
                  "predict L1 t1 f-1", "read L1 t1: 0>5", "begin_layer L1 t1",
                  "release L1 t1 #0: 3>3 0>5", "end_layer L1 t1", "head t1"));
  EXPECT_EQ(run.metrics.decode.demand_misses, 6);
  EXPECT_EQ(run.metrics.decode.blocks_wanted, 8);
}

TEST(Sequence, OneShotAheadPredictsTheNextLayerFromTheInputOfThisOne) {
  SmallRun run = by_hand();
  run.tokens = 1;
  run.cache = "{policy: pinned, share: 0}";
  run.controller = "one_shot_ahead";
  run.loader = "after_prediction";
  run.run();
  EXPECT_THAT(run.transcript,
              ElementsAre("attention L0 t0", "predict L0 t0 f8",
                          // The first prediction is back: layer 1 is predicted while layer 0 loads.
                          "predict L1 t0 f-2", "read L0 t0: 0>0 1>1", "begin_layer L0 t0",
                          // All of layer 0 is under way or there: now the set of layer 1.
                          "read L1 t0: 2>2 3>3", "release L0 t0 #0: 0>0 1>1", "end_layer L0 t0",
                          "attention L1 t0", "begin_layer L1 t0", "release L1 t0 #0: 2>2 3>3",
                          "end_layer L1 t0", "head t0"));
}

TEST(Sequence, ResidualRefinesByStageAndPrefetchesTheNextLayer) {
  SmallRun run = by_hand();
  run.tokens = 1;
  run.run();
  EXPECT_THAT(run.transcript,
              ElementsAre("attention L0 t0", "predict L0 t0 f8",
                          // Two parts, the more important block first.
                          "read L0 t0: 0>0", "begin_layer L0 t0", "read L0 t0: 1>1",
                          "release L0 t0 #0: 0>0",
                          // Attention has ended: stage 0 predicts layer 1.
                          "predict L1 t0 f0",
                          // The first segment, 2/3 of the importance, is stage 5 of 8.
                          "predict L1 t0 f5", "read L1 t0: 2>2", "release L0 t0 #1: 1>1",
                          "end_layer L0 t0", "attention L1 t0", "predict L1 t0 f8",
                          // The final set is known; its second part waits for the first.
                          "begin_layer L1 t0", "read L1 t0: 3>3", "release L1 t0 #0: 2>2",
                          "release L1 t0 #1: 3>3", "end_layer L1 t0", "head t0"));
}

// Token 0 left blocks 0 and 1 of layer 0; token 1 wants both, 1 before 0.
TEST(Sequence, TheComputeOrderIsIndependentOfTheLoader) {
  for (const auto& [order, expected] :
       {std::pair(ComputeOrder::priority, "release L0 t1 #0: 1>1 0>0"),
        std::pair(ComputeOrder::flash, "release L0 t1 #0: 0>0 1>1")}) {
    SmallRun run = by_hand();
    run.activations->set(1, 0, {100, 200, 1, 0});
    run.loader = "on_demand";
    run.controller = "{policy: static, omega_io: 1, omega_gpu: 1}";
    run.compute_order = order;
    run.run();
    EXPECT_THAT(run.transcript, testing::Contains(expected));
  }
}

// Speculation by residuals until attention has ended, then the final set from the own input.
TEST(Sequence, OwnInputSpeculatesUntilItIsKnown) {
  SmallRun run = by_hand();
  run.tokens = 1;
  run.final_at = FinalAt::own_input;
  run.run();
  EXPECT_THAT(
      run.transcript,
      ElementsAre("attention L0 t0", "predict L0 t0 f-1", "predict L1 t0 f0", "read L0 t0: 0>0",
                  "begin_layer L0 t0", "read L0 t0: 1>1", "release L0 t0 #0: 0>0",
                  "predict L1 t0 f5", "read L1 t0: 2>2", "release L0 t0 #1: 1>1", "end_layer L0 t0",
                  // T_GPU(0): the whole residual speculates while attention runs.
                  "attention L1 t0", "predict L1 t0 f8", "read L1 t0: 3>3", "predict L1 t0 f-1",
                  "begin_layer L1 t0", "release L1 t0 #0: 2>2", "release L1 t0 #1: 3>3",
                  "end_layer L1 t0", "head t0"));
}

}  // namespace
}  // namespace leanstream::scheduler
