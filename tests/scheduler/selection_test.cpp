#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

RunSpec spec_of(LayerId layers, std::int32_t ffn, std::int32_t k, double density, Select select) {
  SmallRun run;
  run.layers = layers;
  run.ffn = ffn;
  run.block_neurons = k;
  run.density = density;
  run.select = select;
  return run.spec();
}

TEST(Selection, BlocksAgreeWithSortingTheirSums) {
  const SmallActivations activations(4, 2, 37, 5);
  const RunSpec spec = spec_of(2, 37, 3, 0.3, Select::blocks);  // 13 blocks, the last of 1 neuron
  Selection selection(spec, activations);
  EXPECT_EQ(Selection::wanted_count(spec), 4);
  BlockScores scores(13);
  const auto& [wanted, units, priority] = scores;
  for (TokenId t = 0; t < 4; ++t) {
    const auto codes = activations.importance(t, 1);
    selection.choose(t, 1, codes, nullptr, scores);
    std::vector<double> sums(13);
    for (std::size_t j = 0; j < 37; ++j) sums[j / 3] += codes[j];
    std::vector<std::size_t> order(13);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return sums[a] > sums[b]; });
    EXPECT_EQ(wanted.count(), 4);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GE(sums[order[i]], sums[order[4]]);
      if (sums[order[i]] > sums[order[4]]) {
        EXPECT_TRUE(wanted.test(static_cast<BlockId>(order[i])));
      }
    }
    for (std::size_t i = 1; i < 13; ++i) EXPECT_GE(priority[order[i - 1]], priority[order[i]]);
  }
}

TEST(Selection, NeuronsTakeEveryBlockThatHoldsOne) {
  SmallActivations activations(1, 1, 8);
  activations.set(0, 0, {9, 0, 0, 0, 0, 8, 7, 0});
  Selection selection(spec_of(1, 8, 2, 0.25, Select::neurons), activations);
  BlockScores scores(4);
  selection.choose(0, 0, activations.importance(0, 0), nullptr, scores);
  EXPECT_TRUE(scores.wanted.test(0) && scores.wanted.test(2));
  EXPECT_EQ(scores.wanted.count(), 2);
}

// Equal neurons are told apart by a hash of the token, so ties do not persist between tokens.
TEST(Selection, TiesDependOnTheToken) {
  SmallActivations activations(2, 1, 64);
  const std::vector<std::uint8_t> flat(64, 7);
  activations.set(0, 0, flat);
  activations.set(1, 0, flat);
  Selection selection(spec_of(1, 64, 1, 0.5, Select::blocks), activations);
  BlockScores first(64), second(64);
  selection.choose(0, 0, activations.importance(0, 0), nullptr, first);
  selection.choose(1, 0, activations.importance(1, 0), nullptr, second);
  EXPECT_EQ(first.wanted.count(), 32);
  EXPECT_EQ(second.wanted.count(), 32);
  EXPECT_NE(first.wanted, second.wanted);
}

// Positions 0 … 5 hold neurons 4, 1, 5, 0, 2, 3: blocks {4, 1}, {5, 0}, {2, 3}.
class Shuffled final : public policy::Placement {
 public:
  std::span<const std::int32_t> order(LayerId) const override { return order_; }

 private:
  std::vector<std::int32_t> order_{4, 1, 5, 0, 2, 3};
};

TEST(Selection, BlocksAreSummedWhereTheirNeuronsLie) {
  const SmallActivations activations(1, 1, 6);
  const std::vector<std::uint8_t> codes{255, 2, 30, 4, 50, 0};
  const Shuffled placement;
  RunSpec spec = spec_of(1, 6, 2, 0.34, Select::neurons);  // two neurons: 0 and 4
  spec.placement = &placement;
  BlockScores scores(3);
  Selection neurons(spec, activations);
  neurons.choose(0, 0, codes, nullptr, scores);
  EXPECT_TRUE(scores.wanted.test(0) && scores.wanted.test(1) && !scores.wanted.test(2));
  const double unit = 0x1p30 / 255;
  const std::vector<double> sums{52, 255, 34};
  for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(scores.units[b], sums[b] * unit, 3);
  std::vector<std::uint32_t> alone(3);
  neurons.sum(0, codes, alone);
  EXPECT_EQ(alone, scores.units);
  spec.select = Select::blocks;  // one block
  Selection(spec, activations).choose(0, 0, codes, nullptr, scores);
  EXPECT_TRUE(scores.wanted.test(1) && scores.wanted.count() == 1);
  EXPECT_GT(scores.priority[1], scores.priority[0]);
  EXPECT_GT(scores.priority[0], scores.priority[2]);
}

// What is always computed takes the place of the least important that would have been chosen.
TEST(Selection, AlwaysComputedBlocksCountWithinTheDensity) {
  for (const Select select : {Select::blocks, Select::neurons}) {
    SmallActivations activations(1, 1, 8);
    activations.set(0, 0, {90, 80, 70, 60, 50, 40, 30, 20});
    Selection selection(spec_of(1, 8, 1, 0.5, select), activations);
    BlockSet always(8);
    always.set(6);
    BlockScores scores(8);
    selection.choose(0, 0, activations.importance(0, 0), &always, scores);
    EXPECT_EQ(scores.wanted.count(), 4);
    for (const BlockId b : {0, 1, 2, 6}) EXPECT_TRUE(scores.wanted.test(b)) << b;
  }
}

}  // namespace
}  // namespace leanstream::scheduler
