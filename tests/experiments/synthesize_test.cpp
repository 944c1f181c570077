// leanstream synthesize, and what is said of runs with its traces.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

using SynthesizeTest = ProgramTest;

TEST_F(SynthesizeTest, SaysWhatWasAskedAndWhatCameOut) {
  const Ended ended = run({"synthesize", "--model", "smollm2-135m", "--tokens", "800", "--out",
                           "made.safetensors", "--json", "persistence=60%", "hot_share=0.45"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json answer = json::parse(ended.out);
  EXPECT_EQ(answer.at("kind"), "synthetic");
  for (const auto& row : answer.at("figures")) {
    // The hottest neurons of a short trace are hotter than those of a long one.
    EXPECT_GT(row.at("measured").get<double>(), row.at("asked").get<double>() - 0.02) << row;
    EXPECT_LT(row.at("measured").get<double>(), row.at("asked").get<double>() + 0.05) << row;
  }
  EXPECT_NEAR(answer.at("figures")[0].at("asked").get<double>(), 0.6, 1e-6);
  EXPECT_NEAR(answer.at("figures")[0].at("measured").get<double>(), 0.6, 0.02);
  const Ended info = run({"trace", "info", "made.safetensors"});
  EXPECT_THAT(info.out, HasSubstr("synthetic trace of smollm2-135m"));
  EXPECT_THAT(info.out, HasSubstr("asked for         hot_share 0.45"));
  EXPECT_THAT(info.out, HasSubstr("asked for         fit smollm2-135m"));
}

TEST_F(SynthesizeTest, AFitOfATraceMakesOneLikeIt) {
  const auto figures = [&](const std::string& file) {
    return json::parse(run({"trace", "info", file, "--json"}).out).at("statistics");
  };
  const std::string sample =
      LEANSTREAM_SOURCE_DIR "/traces/samples/genesis-smollm2-135m.safetensors";
  const Ended fit = run({"trace", "fit", sample, "--out", "genesis.yaml"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("fit of SmolLM2-135M-Instruct to 160 tokens, 30 layers"));
  EXPECT_EQ(run({"check", "genesis.yaml"}).status, 0);
  const Ended made = run({"synthesize", "--model", "smollm2-135m", "--fit", "genesis.yaml",
                          "--tokens", "160", "--out", "made.safetensors"});
  ASSERT_EQ(made.status, 0) << made.err;
  const json real = figures(sample), got = figures("made.safetensors");
  EXPECT_NEAR(got.at("importance_share"), real.at("importance_share"), 0.02);
  EXPECT_NEAR(got.at("overlap"), real.at("overlap"), 0.03);
  EXPECT_NEAR(got.at("hottest_share").at("0.2"), real.at("hottest_share").at("0.2"), 0.03);
  for (std::size_t i = 0; i < real.at("cache").size(); ++i) {
    for (const char* policy : {"lru_miss_ratio", "lfu_miss_ratio", "belady_miss_ratio"}) {
      EXPECT_NEAR(got.at("cache")[i].at(policy), real.at("cache")[i].at(policy), 0.04)
          << policy << " " << i;
    }
  }
}

TEST_F(SynthesizeTest, MagnitudesAndFeaturesMayBeAskedFor) {
  const std::string table =
      LEANSTREAM_SOURCE_DIR "/traces/measured/teal_mlp_activation_quantiles.csv";
  ASSERT_EQ(run({"synthesize", "--model", "mistral-7b", "--tokens", "2", "--out",
                 "made.safetensors", "--magnitudes", table})
                .status,
            0);
  EXPECT_THAT(run({"trace", "info", "made.safetensors"}).out,
              HasSubstr("magnitudes Mistral-7B in teal_mlp_activation_quantiles.csv"));
  ASSERT_EQ(run({"synthesize", "--model", "smollm2-135m", "--tokens", "3", "--features", "--out",
                 "features.safetensors"})
                .status,
            0);
  EXPECT_EQ(run({"trace", "check", "features.safetensors"}).status, 0);
  const Ended other = run(
      {"synthesize", "--model", "smollm2-135m", "--out", "x.safetensors", "--magnitudes", table});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("there are: Llama-2-7B, Mistral-7B"));
}

TEST_F(SynthesizeTest, RunsWithItAreMarkedEverywhere) {
  ASSERT_EQ(
      run({"synthesize", "--model", "./tiny.yaml", "--tokens", "24", "--out", "made.safetensors"})
          .status,
      0);
  const Ended ended = run({"sweep", "sweep.yaml", "trace=made.safetensors"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("simulated, synthetic trace"));
  const std::string report = text("out/tiny/report.html");
  EXPECT_THAT(report, HasSubstr("<span class=\"badge weak\">simulated, synthetic trace"));
  EXPECT_THAT(report, HasSubstr("<li>Synthetic activations: no model computed them"));
  EXPECT_THAT(report, HasSubstr("by system and memory budget (simulated, synthetic trace)"));
  const json manifest = json::parse(text("out/tiny/manifest.json"));
  EXPECT_EQ(manifest.at("trace").at("kind"), "synthetic");
  EXPECT_EQ(manifest.at("trace").at("knobs").at("fit"), "smollm2-135m");
}

TEST_F(SynthesizeTest, WrongKnobsAreNamed) {
  const auto refused = [&](const std::string& argument, const std::string& model = "./tiny.yaml") {
    const Ended ended =
        run({"synthesize", "--model", model, "--out", "made.safetensors", argument});
    EXPECT_EQ(ended.status, 2);
    EXPECT_FALSE(exists("made.safetensors"));
    return ended.err;
  };
  EXPECT_THAT(refused("persistance=0.5"), HasSubstr("'persistence'"));
  EXPECT_THAT(refused("persistence=2"), HasSubstr("2% … 98%"));
  EXPECT_THAT(refused("hot_share=0.8"), HasSubstr("alone keep"));
  EXPECT_THAT(refused("hot_share=0.8", "smollm2-135m"), HasSubstr("persistence 0.344 is too"));
  // A fifth of the neurons has at most 0.2 ÷ 0.38 of the uses.
  const Words knobs{"synthesize",       "--model",      "./tiny.yaml",   "--out",
                    "made.safetensors", "density=0.38", "hot_share=0.6", "persistence=0.83"};
  EXPECT_THAT(run(knobs).err, HasSubstr("hot_share 0.600 cannot be at density 0.38: 0.199 … 0.52"));
  EXPECT_FALSE(exists("made.safetensors"));
  EXPECT_THAT(refused("importance_share=0.03"),
              HasSubstr("importance_share 0.030 cannot be at density 0.2: 0.2"));
  EXPECT_THAT(refused("--tokens=100000", "mistral-7b"), HasSubstr("45.9 GB; at most 16 GB"));
}

}  // namespace
}  // namespace leanstream::experiments
