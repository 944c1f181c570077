// placement: the key of an experiment, and what an order is worth on a real model's activations.
#include "engine/policy/place/placement.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/model/model_file.h"
#include "engine/scheduler/selection.h"
#include "tests/experiments/program.h"
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

// Blocks of two that hold one of the top 20 % of the neurons of a layer, over those neurons: of the
// second half of the sample, with the order fitted on the first.
double blocks_per_wanted_pair(const policy::Placement* placement, const traces::Trace& trace) {
  const model::ModelShape shape = model::load_model("smollm2-135m").shape;
  scheduler::RunSpec spec;
  spec.layers = trace.layers();
  spec.geometry = model::cut_into_blocks(shape, 2, 512);
  spec.density = 0.2;
  spec.select = scheduler::Select::neurons;
  spec.placement = placement;
  scheduler::Selection selection(spec, trace);
  scheduler::BlockScores scores(spec.geometry.blocks_per_layer);
  double blocks = 0;
  for (TokenId t = 80; t < 160; ++t) {
    for (LayerId l = 0; l < trace.layers(); ++l) {
      selection.choose(t, l, trace.importance(t, l), nullptr, scores);
      blocks += scores.wanted.count();
    }
  }
  return 2 * blocks / (80.0 * trace.layers() * scheduler::Selection::wanted_count(spec));
}

TEST(PlacementOfTheSample, FrequencyReadsFewerNeuronsForAWantedOne) {
  const traces::Trace trace(std::string(LEANSTREAM_SOURCE_DIR) +
                            "/traces/samples/genesis-smollm2-135m.safetensors");
  const auto choose = [](const std::string& name) {
    config::Diagnostics diagnostics;
    const auto document = config::parse_document(name, "test", diagnostics);
    return policy::Registry<policy::Placement>::instance().choose(document.root, diagnostics);
  };
  const auto frequency = choose("frequency").make({&trace, 80, 0.2});
  const double before = blocks_per_wanted_pair(nullptr, trace);
  // Neurons independent of their neighbours: 2 · (1 − 0.8²) ÷ 2 ÷ 0.2.
  EXPECT_NEAR(before, 1.8, 0.01);
  EXPECT_LT(blocks_per_wanted_pair(frequency.get(), trace), 0.97 * before);
  EXPECT_EQ(blocks_per_wanted_pair(choose("identity").make({&trace, 80, 0.2}).get(), trace),
            before);
}

}  // namespace
}  // namespace leanstream::experiments
