// leanstream synthesize, and what is said of runs with its traces.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using SynthesizeTest = ProgramTest;

TEST_F(SynthesizeTest, SaysWhatWasAskedAndWhatCameOut) {
  const Ended ended = run({"synthesize", "--model", "smollm2-135m", "--tokens", "100", "--out",
                           "made.safetensors", "--json", "persistence=60%", "hot_share=0.45"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json answer = json::parse(ended.out);
  EXPECT_EQ(answer.at("kind"), "synthetic");
  for (const auto& row : answer.at("figures")) {
    EXPECT_NEAR(row.at("asked").get<double>(), row.at("measured").get<double>(), 0.05) << row;
  }
  EXPECT_EQ(answer.at("figures")[0].at("asked"), 0.6);
  EXPECT_NEAR(answer.at("figures")[0].at("measured").get<double>(), 0.6, 0.02);
  const Ended info = run({"trace", "info", "made.safetensors"});
  EXPECT_THAT(info.out, HasSubstr("synthetic trace of smollm2-135m"));
  EXPECT_THAT(info.out, HasSubstr("asked for         hot_share 0.45"));
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
  EXPECT_EQ(manifest.at("trace").at("knobs").at("persistence"), "0.345");
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
  EXPECT_THAT(refused("persistence=2"), HasSubstr("20% … 98%"));
  EXPECT_THAT(refused("hot_share=0.8"), HasSubstr("these alone keep"));
  EXPECT_THAT(refused("--tokens=100000", "mistral-7b"), HasSubstr("45.9 GB; at most 16 GB"));
}

}  // namespace
}  // namespace leanstream::experiments
