// Learned placements as files: what is written is read back, what is wrong with a file is said.
#include "engine/policy/place/placement_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/model/safetensors.h"
#include "engine/policy/place/placement.h"
#include "tests/scheduler/small_run.h"
#include "tests/traces/small_trace.h"

namespace leanstream::policy {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

class PlacementFileTest : public testing::Test {
 protected:
  PlacementFileTest() {
    placement_.model = "tiny";
    placement_.model_hash = "00ff";
    placement_.layers = 2;
    placement_.ffn = 4;
    placement_.policy = "embedding";
    placement_.parameters = {{"dimensions", "8"}};
    placement_.density = 0.3;
    placement_.block_neurons = 2;
    placement_.tokens = 100;
    placement_.seed = 7;
    placement_.traces = "a.safetensors 00aa";
    placement_.tool = "test";
    placement_.command = "none";
    placement_.orders = {{2, 0, 3, 1}, {0, 1, 3, 2}};
    write_placement(path_, placement_);
  }

  std::string refusal() const {
    try {
      read_placement(path_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal_of_use(const Placement::Context& context) const {
    try {
      scheduler::make_policy<Placement>(use(), context);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string use() const { return "{policy: file, file: " + path_ + "}"; }
  // The same file with other metadata or another order.
  void rewrite(const std::string& key, const std::string& value,
               std::vector<std::int32_t> order = {2, 0, 3, 1, 0, 1, 3, 2},
               std::vector<std::int64_t> shape = {2, 4}) {
    write_placement(path_, placement_);
    auto metadata = model::SafetensorsReader(path_).metadata();
    if (!key.empty()) metadata[key] = value;
    model::SafetensorsWriter writer(path_, {{"order", model::Dtype::kI32, std::move(shape)}},
                                    metadata);
    writer.append<std::int32_t>("order", std::span<const std::int32_t>(order));
    writer.commit();
  }

  traces::TemporaryFolder folder_;
  std::string path_ = folder_.file("p.safetensors");
  LearnedPlacement placement_;
};

TEST_F(PlacementFileTest, WhatIsWrittenIsReadBack) {
  const LearnedPlacement read = read_placement(path_);
  EXPECT_EQ(read.model, "tiny");
  EXPECT_EQ(read.model_hash, "00ff");
  EXPECT_EQ(read.layers, 2);
  EXPECT_EQ(read.ffn, 4);
  EXPECT_EQ(read.policy, "embedding");
  EXPECT_EQ(read.parameters, placement_.parameters);
  EXPECT_EQ(read.density, 0.3);
  EXPECT_EQ(read.block_neurons, 2);
  EXPECT_EQ(read.tokens, 100);
  EXPECT_EQ(read.seed, 7U);
  EXPECT_EQ(read.traces, placement_.traces);
  EXPECT_EQ(read.orders, placement_.orders);
}

TEST_F(PlacementFileTest, ARunUsesIt) {
  Placement::Context context;
  context.layers = 2;
  context.ffn = 4;
  const auto placement = scheduler::make_policy<Placement>(use(), context);
  EXPECT_THAT(placement->order(0), ElementsAreArray(placement_.orders[0]));
  EXPECT_THAT(placement->order(1), ElementsAreArray(placement_.orders[1]));
  EXPECT_THAT(placement->source(), HasSubstr("embedding on 100 tokens of a.safetensors 00aa"));
  EXPECT_THAT(placement->source(), HasSubstr(hash_file(path_))) << "it is named by its content";
}

TEST_F(PlacementFileTest, AnotherModelIsRefused) {
  Placement::Context context;
  context.layers = 2;
  context.ffn = 5;
  EXPECT_THAT(refusal_of_use(context),
              HasSubstr("a placement of tiny (2 layers of 4 neurons), not of 2 of 5"));
  context.ffn = 4;
  context.model_hash = "00fe";
  EXPECT_THAT(refusal_of_use(context), HasSubstr("a model with other weights: tiny (00ff)"));
  context.model_hash = "00ff";
  EXPECT_EQ(refusal_of_use(context), "");
  const scheduler::SmallActivations activations(2, 3, 4);
  EXPECT_THAT(refusal_of_use({&activations, 1, 0.5}), HasSubstr("not of 3 of 4"));
}

TEST_F(PlacementFileTest, WhatIsWrongWithAFileIsSaid) {
  rewrite("format", "leanstream-trace");
  EXPECT_THAT(refusal(), HasSubstr("no placement; `leanstream train placement` writes them"));
  rewrite("format_version", "2");
  EXPECT_THAT(refusal(), HasSubstr("of version 2; this program reads version 1"));
  rewrite("tokens", "12x");
  EXPECT_THAT(refusal(), HasSubstr("tokens is '12x', not a number"));
  rewrite("model.ffn", "5");
  EXPECT_THAT(refusal(), HasSubstr("order"));
  rewrite("", "", {2, 0, 3, 1, 0, 1, 3, 3});
  EXPECT_THAT(refusal(), HasSubstr("the order of layer 1 is no permutation: neuron 3"));
  rewrite("", "", {-1, 0, 3, 1, 0, 1, 3, 2});
  EXPECT_THAT(refusal(), HasSubstr("the order of layer 0 is no permutation: neuron -1"));
  rewrite("", "", {2, 0, 3, 1}, {1, 4});
  EXPECT_THAT(refusal(), HasSubstr("order"));
  rewrite("", "");
  EXPECT_EQ(refusal(), "");
}

TEST_F(PlacementFileTest, NoTruncatedFileIsRead) {
  const auto whole = std::filesystem::file_size(path_);
  for (const auto bytes :
       {whole - 1, whole - 20, whole / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path_, bytes);
    EXPECT_NE(refusal(), "") << bytes << " bytes of " << whole;
  }
  std::filesystem::remove(path_);
  EXPECT_THAT(refusal(), HasSubstr("p.safetensors"));
}

}  // namespace
}  // namespace leanstream::policy
