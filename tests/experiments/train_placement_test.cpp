// A learned placement from end to end: train, pack, run in simulation and on a flash image.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/backend/world.h"
#include "engine/base/hash.h"
#include "engine/model/flash_image.h"
#include "engine/policy/place/placement_file.h"
#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const char* const kUseFile = "{policy: file, file: p.safetensors}";

class TrainPlacementTest : public ProgramTest {
 protected:
  TrainPlacementTest()
      : image_(std::filesystem::absolute(fmt::format("train-test-{}.image", ::getpid()))) {}
  ~TrainPlacementTest() override { std::filesystem::remove(image_); }

  json trained(const Words& more = {}, const std::string& out = "p.safetensors") {
    Words words{
        "train", "placement", "--trace", "tiny.safetensors", "--tokens",     "12", "--density",
        "0.3",   "--out",     out,       "--json",           "--iterations", "20"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.status == 0 ? json::parse(ended.out) : json();
  }
  void refused(const Words& words, const std::string& message) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(ended.err, HasSubstr(message));
  }
  void pack(const std::string& placement) {
    const Ended ended = run({"pack", "--shape", "./tiny.yaml", "--block-neurons", "2",
                             "--logical-block", "4096", "--placement", placement, "--out", image_});
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  Words cell(const Words& more) const {
    Words words{"run", "sweep.yaml", "memory_budget=75% of mlp"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string image_;
};

TEST_F(TrainPlacementTest, TheFileSaysHowItCameAbout) {
  for (const std::string policy : {"frequency", "pairwise", "embedding"}) {
    const json said = trained({"--policy", policy, "--threads", "3"});
    EXPECT_EQ(said.at("policy"), policy);
    EXPECT_EQ(said.at("tokens"), 12);
    EXPECT_EQ(said.at("hash"), hash_file(path("p.safetensors")));
    const auto file = policy::read_placement(path("p.safetensors"));
    EXPECT_EQ(file.policy, policy);
    EXPECT_EQ(file.layers, 4);
    EXPECT_EQ(file.ffn, 96);
    EXPECT_EQ(file.tokens, 12);
    EXPECT_EQ(file.density, 0.3);
    EXPECT_THAT(file.traces, HasSubstr(hash_file(path("tiny.safetensors"))));
    EXPECT_EQ(file.parameters.contains("dimensions"), policy == "embedding");
    trained({"--policy", policy}, "again.safetensors");
    EXPECT_EQ(policy::read_placement(path("again.safetensors")).orders, file.orders)
        << "however many threads";
  }
}

TEST_F(TrainPlacementTest, WhatIsWrongIsSaid) {
  const auto with = [](const Words& more) {
    Words words{"train", "placement", "--trace", "tiny.safetensors", "--out", "x.safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refused(with({"--tokens", "25"}), "--tokens 25: the traces have 24");
  refused(with({"--density", "1"}), "--density 1: it must be above 0 and below 1");
  refused(with({"--policy", "identity"}), "identity");
  refused(with({"--trace", "tiny.safetensors", "--block-neurons", "0"}), "--block-neurons");
  refused(with({"--trace", "nowhere.safetensors"}), "nowhere.safetensors");
  EXPECT_FALSE(exists("x.safetensors"));
  refused({"trace", "placement", "tiny.safetensors", "--fit-tokens", "24"},
          "--fit-tokens 24 leaves 0 to look at");
  refused({"trace", "placement", "tiny.safetensors", "--placement", "nowhere.safetensors"},
          "nowhere.safetensors");
  refused({"pack", "--shape", "smollm2-135m", "--layers", "1", "--out", "i", "--placement",
           "{policy: file, file: nowhere.safetensors}"},
          "nowhere.safetensors");
  trained();
  refused({"pack", "--shape", "smollm2-135m", "--out", "i", "--placement", kUseFile},
          "(4 layers of 96 neurons), not of 30 of 1536");
  refused(cell({"model=smollm2-135m", std::string("placement=") + kUseFile}), "tiny.safetensors");
}

TEST_F(TrainPlacementTest, TracePlacementComparesItOnOtherTokens) {
  trained({"--policy", "pairwise"});
  const Ended ended =
      run({"trace", "placement", "tiny.safetensors", "--fit-tokens", "12", "--density", "0.3",
           "--placement", "identity", "pairwise", "p.safetensors", "--block-neurons", "1", "2",
           "--platform", "jetson-agx-orin", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json answer = json::parse(ended.out);
  EXPECT_EQ(answer.at("first_token"), 12);
  EXPECT_EQ(answer.at("tokens"), 12);
  const json& rows = answer.at("placements");
  ASSERT_EQ(rows.size(), 6U);
  for (const json& row : rows) {
    if (row.at("block_neurons") == 1) {
      EXPECT_EQ(row.at("neurons_per_wanted"), 1);
    }
    if (row.at("placement") == "identity") {
      EXPECT_EQ(row.at("relative_to_identity"), 1);
    }
    EXPECT_GE(row.at("read_amplification"), row.at("neurons_per_wanted"));
    EXPECT_GT(row.at("effective_gb_per_s"), 0);
  }
  for (const char* figure : {"neurons_per_wanted", "mean_run", "effective_gb_per_s"}) {
    EXPECT_EQ(rows[3].at(figure), rows[5].at(figure)) << "fitted on the same tokens";
  }
}

TEST_F(TrainPlacementTest, ImageAndSimulationFaceTheSameReads) {
  trained({"--block-neurons", "2"});
  pack(kUseFile);
  const auto info = model::FlashImage(image_).info();
  EXPECT_EQ(info.placement, "file");
  EXPECT_THAT(info.placement_source, HasSubstr(hash_file(path("p.safetensors"))));
  EXPECT_EQ(info.orders, policy::read_placement(path("p.safetensors")).orders);
  write("sweep.yaml", changed_sweep("", "tokens: 14\nselect: neurons\nhardware: {image: " + image_ +
                                            "}\nplatform_changes: {flash: {logical_block: 4096 "
                                            "B}}\n"));
  const Words ripple{"system=ripple", std::string("placement=") + kUseFile,
                     "system_changes={loader: {gap: 16 KiB, largest_read: 64 KiB}}"};
  Words words = cell(ripple);
  words.insert(words.end(), {"--backend=hardware", "--out", "o", "--log-completions", "a.log",
                             "hardware.check_on_read=true"});
  const Ended hardware = run(words);
  ASSERT_EQ(hardware.status, 0) << hardware.err;
  const auto on_flash = table("o/results.csv");
  const auto figure = [&](const char* name) { return on_flash.number(0, name).value_or(-1); };
  EXPECT_GT(figure("bytes_across"), 0);
  EXPECT_NEAR(figure("bytes_read") - figure("bytes_across"),
              figure("miss_ratio_demand") * figure("bytes_wanted"), 1e-6 * figure("bytes_read"));
  EXPECT_EQ(figure("read_errors"), 0) << "every block was what the image's checksums say";
  const json manifest = json::parse(text("o/manifest.json"));
  EXPECT_EQ(manifest.at("placements"), json::array({info.placement_source}));
  words = cell(ripple);
  words.insert(words.end(), {"--backend=replay", "--log", "a.log", "--out", "r"});
  EXPECT_EQ(run(words).status, 0);
  if (std::ranges::any_of(backend::worlds(), [](const auto& w) { return w.name == "sim"; })) {
    words = cell(ripple);
    words.insert(words.end(), {"--out", "s"});
    ASSERT_EQ(run(words).status, 0);
    const auto simulated = table("s/results.csv");
    // It reads nothing ahead, so time decides nothing about what is read.
    for (const char* name : {"bytes_read", "bytes_across", "bytes_wanted", "miss_ratio_demand"}) {
      EXPECT_EQ(simulated.text(0, name), on_flash.text(0, name)) << name;
    }
  }
  words = cell({"system=ripple", "placement=identity", "--backend=hardware", "--out", "x"});
  refused(words, "its neurons lie by placement file (embedding on 12 tokens of tiny.safetensors");
  refused(words, "those of the run by another: state the image's as `placement`");
}

}  // namespace
}  // namespace leanstream::experiments
