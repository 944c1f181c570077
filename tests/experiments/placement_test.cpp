// placement: the key of an experiment, and what an order is worth on a real model's activations.
#include "engine/policy/place/placement.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/config/document.h"
#include "engine/learn/placement.h"
#include "engine/policy/place/fit.h"
#include "tests/experiments/program.h"
#include "traces/placement_statistics.h"
#include "traces/trace.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using PlacementTest = ProgramTest;

TEST_F(PlacementTest, IsAKeyOfTheExperiment) {
  const std::vector<std::string> command{"sweep", "sweep.yaml", "--no-report", "select=neurons"};
  const auto with = [&](const std::string& placement) {
    auto arguments = command;
    arguments.push_back("placement=" + placement);
    return run(arguments);
  };
  ASSERT_EQ(with("identity").status, 0);
  const auto identity = table("out/tiny/results.csv");
  ASSERT_EQ(run(command).status, 0);
  EXPECT_EQ(table("out/tiny/results.csv").rows, identity.rows) << "identity is the default";
  ASSERT_EQ(with("{policy: frequency, fit_tokens: 4}").status, 0);
  EXPECT_NE(table("out/tiny/results.csv").rows, identity.rows);
  const json manifest = json::parse(text("out/tiny/manifest.json"));
  const json& placement = manifest.at("configuration").at("experiment").at("placement");
  EXPECT_EQ(placement.at("policy"), "frequency");
  EXPECT_EQ(placement.at("fit_tokens"), 4);
}

TEST_F(PlacementTest, WhatIsWrongIsSaid) {
  const Ended unknown = run({"sweep", "sweep.yaml", "placement=frequent"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("unknown placement policy 'frequent'"));
  const Ended none = run({"sweep", "sweep.yaml", "placement=frequency", "prompt_tokens=0"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("placement frequency: 0 tokens to fit on"));
}

TEST_F(PlacementTest, ASystemMayHaveItsOwnWhereTheExperimentStatesNone) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run", "sweep.yaml", "system=ripple", "select=neurons",
                                       "memory_budget=75% of mlp"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return table("out/tiny/results.csv").text(0, "commands_hash");
  };
  const std::string own = with({});
  EXPECT_EQ(with({"placement=pairwise"}), own);
  const std::string identity = with({"placement=identity"});
  EXPECT_NE(identity, own) << "what the experiment states goes first";
  EXPECT_EQ(with({"system_changes={placement: identity}"}), identity);
}

// Neurons of blocks of two that hold one of the top 20 % of the neurons of a layer, over those
// neurons: of the second half of the sample, in every third layer.
constexpr TokenId kFitted = 80;
constexpr LayerId kLayerStep = 3;
constexpr double kDensity = 0.2;

class PlacementOfTheSample : public testing::Test {
 protected:
  double per_wanted(const std::vector<std::vector<std::int32_t>>& orders) const {
    std::int64_t read = 0, wanted = 0;
    std::vector<BlockSet> active;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      active.clear();
      policy::append_active(trace_, static_cast<LayerId>(i) * kLayerStep, kFitted, trace_.tokens(),
                            kDensity, active);
      for (const BlockSet& set : active) {
        wanted += set.count();
        for (std::size_t p = 0; p < orders[i].size(); p += 2) {
          read += set.test(orders[i][p]) || set.test(orders[i][p + 1]) ? 2 : 0;
        }
      }
    }
    return static_cast<double>(read) / static_cast<double>(wanted);
  }
  std::vector<std::vector<std::int32_t>> learned(learn::PlacementPolicy policy) const {
    learn::PlacementRule rule{.policy = policy, .block_neurons = 2, .embedding = {}};
    rule.embedding.dimensions = 32;  // enough for so few tokens
    rule.embedding.iterations = 40;
    std::vector<std::vector<std::int32_t>> orders;
    for (LayerId l = 0; l < trace_.layers(); l += kLayerStep) {
      std::vector<BlockSet> active;
      policy::append_active(trace_, l, 0, kFitted, kDensity, active);
      orders.push_back(learn::learn_order(rule, l, trace_.ffn(), active));
    }
    return orders;
  }
  std::vector<std::vector<std::int32_t>> identity() const {
    std::vector<std::int32_t> order(static_cast<std::size_t>(trace_.ffn()));
    std::iota(order.begin(), order.end(), 0);
    return std::vector(static_cast<std::size_t>(trace_.layers() / kLayerStep), order);
  }

  traces::Trace trace_{std::string(LEANSTREAM_SOURCE_DIR) +
                       "/traces/samples/genesis-smollm2-135m.safetensors"};
};

TEST_F(PlacementOfTheSample, LearnedOrdersReadFewerNeuronsForAWantedOne) {
  using learn::PlacementPolicy;
  const double before = per_wanted(identity());
  // Neurons independent of their neighbours: 2 · (1 − 0.8²) ÷ 2 ÷ 0.2.
  EXPECT_NEAR(before, 1.8, 0.01);
  const double frequency = per_wanted(learned(PlacementPolicy::frequency)) / before;
  const double pairwise = per_wanted(learned(PlacementPolicy::pairwise)) / before;
  const double embedding = per_wanted(learned(PlacementPolicy::embedding)) / before;
  EXPECT_LE(frequency, 0.97);
  EXPECT_LE(pairwise, 0.93);
  EXPECT_LE(embedding, 0.97);
  EXPECT_LT(pairwise, frequency);
  EXPECT_LT(embedding, frequency);
}

TEST_F(PlacementOfTheSample, APlacementOfARunIsTheLearnedOrderOfItsPrompt) {
  for (const auto& [name, policy] : {std::pair("frequency", learn::PlacementPolicy::frequency),
                                     std::pair("pairwise", learn::PlacementPolicy::pairwise)}) {
    config::Diagnostics diagnostics;
    const auto document = config::parse_document(name, "test", diagnostics);
    const auto placement = policy::Registry<policy::Placement>::instance()
                               .choose(document.root, diagnostics)
                               .make({&trace_, kFitted, kDensity});
    const auto orders = learned(policy);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      EXPECT_TRUE(
          std::ranges::equal(placement->order(static_cast<LayerId>(i) * kLayerStep), orders[i]))
          << name << ", the " << i << "th";
    }
  }
}

TEST(TracePlacement, MeasuresWhatItSays) {
  // Two layers of six neurons; at density 1/3 two are wanted: 0 and 2, or 3 and 4.
  traces::TemporaryFolder folder;
  traces::SmallShape shape{.tokens = 2, .layers = 1, .hidden = 4, .ffn = 6};
  traces::TraceWriter writer(traces::small_info(shape), shape.tokens);
  writer.set_importance(std::vector<float>{9, 1, 9, 1, 1, 1, 1, 1, 1, 9, 9, 1});
  writer.write(folder.file("t.safetensors"));
  const traces::Trace trace(folder.file("t.safetensors"));
  const std::vector<std::int32_t> placed{0, 2, 1, 3, 4, 5};
  const std::vector<std::int32_t> ks{1, 2, 4};
  const std::vector<std::span<const std::int32_t>> own(1), learned{placed};
  const auto before = traces::placement_statistics(trace, own, 1.0 / 3, 0, 2, ks);
  EXPECT_EQ(before.wanted, 2);
  EXPECT_EQ(before.mean_run, 4.0 / 3);  // 0, 2, and 3 with 4
  EXPECT_EQ(before.by_block_neurons[0].neurons_per_wanted, 1);
  EXPECT_EQ(before.by_block_neurons[1].neurons_per_wanted, 2);  // 01 23, 23 45
  EXPECT_EQ(before.by_block_neurons[1].requests, 1);
  EXPECT_EQ(before.by_block_neurons[1].blocks_per_request, 2);
  EXPECT_EQ(before.by_block_neurons[2].neurons_per_wanted, 10.0 / 4);  // 0123, and 45 of two
  const auto after = traces::placement_statistics(trace, learned, 1.0 / 3, 0, 2, ks);
  EXPECT_EQ(after.mean_run, 2);
  EXPECT_EQ(after.by_block_neurons[1].neurons_per_wanted, 6.0 / 4);  // 02, 13 45
}

}  // namespace
}  // namespace leanstream::experiments
