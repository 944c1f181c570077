// leanstream validate as a user calls it. No figure of time is looked at: only what is listed,
// kept, refused.
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/base/atomic_file.h"
#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

using Words = std::vector<std::string>;

// sweep.yaml of two systems and two budgets, with images beside, on a platform of its own.
class ValidateTest : public ProgramTest {
 protected:
  ValidateTest() : image_(std::filesystem::absolute(fmt::format("validate-{}", ::getpid()))) {
    write("board.yaml",
          read_file(std::string(LEANSTREAM_SOURCE_DIR) + "/platforms/jetson-agx-orin.yaml"));
    write("sweep.yaml",
          changed_sweep("", "tokens: 12\nhardware: {image: \"" + image_ +
                                "-{block_neurons}.image\"}\nplatform_changes: {flash: "
                                "{logical_block: 4096 B}}\n"));
    const Ended packed = run({"pack", "--shape", "./tiny.yaml", "--block-neurons", "2", "--out",
                              image_ + "-2.image", "--logical-block", "4096"});
    EXPECT_EQ(packed.status, 0) << packed.err;
  }
  ~ValidateTest() override { std::filesystem::remove(image_ + "-2.image"); }

  static Words words(const Words& more = {}) {
    Words all{"validate", "sweep.yaml", "platform=./board.yaml",
              "--out",    "v",          "sweep.system=[dense, leanstream]"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Words draft(const Words& more = {}) {
    Words all = words({"--draft", "--runs", "2", "--repeat-limit", "0"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void refused(const Words& arguments, const testing::Matcher<const std::string&>& message) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(ended.err, message);
    EXPECT_FALSE(exists("v"));
  }
  // Of measured.csv what no later run changes.
  std::vector<Words> runs() const {
    std::vector<Words> all;
    const auto measured = table("v/board/tiny/measured.csv");
    for (std::size_t row = 0; row < measured.rows.size(); ++row) {
      Words& one = all.emplace_back();
      for (const char* name :
           {"cell", "run", "attempt", "started", "probe_read_ms", "tpot_ms_mean", "token_ms"}) {
        one.push_back(measured.text(row, name));
      }
    }
    return all;
  }

 private:
  std::string image_;
};

TEST_F(ValidateTest, ABundleHasEveryRunOfBothWorldsAndItsErrors) {
  const Ended ended = run(draft({"--ablation"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(files("v/board/tiny"),
              testing::ElementsAre("ablation.csv", "cells.csv", "configuration.yaml",
                                   "manifest.json", "measured.csv", "platform.yaml",
                                   "simulated.csv", "simulation.json", "summary.csv", "summary.md",
                                   "time_per_token.svg", "time_per_token_p99.svg"));
  const auto cells = table("v/board/tiny/cells.csv");
  ASSERT_EQ(cells.rows.size(), 4U);
  std::vector<std::pair<std::string, std::string>> names;
  const auto measured = table("v/board/tiny/measured.csv");
  for (std::size_t row = 0; row < measured.rows.size(); ++row) {
    names.emplace_back(measured.text(row, "cell"), measured.text(row, "run"));
    EXPECT_EQ(measured.text(row, "backend"), "hardware");
    EXPECT_EQ(measured.text(row, "counts"), "yes");
    const std::string times = measured.text(row, "token_ms");
    EXPECT_EQ(std::ranges::count(times, ' '), 5) << "six tokens are decoded";
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(std::pair{"0", "0"}, std::pair{"0", "1"},
                                                   std::pair{"1", "0"}, std::pair{"1", "1"},
                                                   std::pair{"2", "0"}, std::pair{"2", "1"},
                                                   std::pair{"3", "0"}, std::pair{"3", "1"}));
  const auto simulated = table("v/board/tiny/simulated.csv");
  EXPECT_EQ(simulated.rows.size(), 4U) << "by segment one run says all";
  // Dense reads the same in both worlds.
  const auto summary = table("v/board/tiny/summary.csv");
  ASSERT_EQ(summary.rows.size(), 4U * 10);
  EXPECT_EQ(summary.text(6, "metric"), "bytes_read");
  EXPECT_EQ(summary.text(6, "name"), "dense, memory_budget 75% of mlp");
  EXPECT_EQ(summary.text(6, "runs"), "2");
  EXPECT_EQ(summary.text(6, "measured"), summary.text(6, "simulated"));
  EXPECT_EQ(summary.text(6, "error"), "0.0000");
  const auto ablation = table("v/board/tiny/ablation.csv");
  EXPECT_EQ(ablation.text(0, "without"), "nothing");
  EXPECT_GT(ablation.rows.size(), 3U);
  EXPECT_THAT(text("v/board/tiny/summary.md"), HasSubstr("A draft: no evidence."));
  EXPECT_EQ(table("v/index.csv").rows.size(), 1U);
}

TEST_F(ValidateTest, WhatIsMissingIsMeasuredAndTheRestKept) {
  ASSERT_EQ(run(draft()).status, 0);
  const auto before = runs();
  auto cut = table("v/board/tiny/measured.csv");
  cut.rows.resize(5);
  cut.write(path("v/board/tiny/measured.csv"));
  const Ended again = run(draft({"--json"}));
  ASSERT_EQ(again.status, 0) << again.err;
  const auto after = runs();
  ASSERT_EQ(after.size(), 8U);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 5, after.begin()));
  EXPECT_NE(before, after) << "the others were measured anew";
  EXPECT_EQ(nlohmann::json::parse(again.out).at("runs"), 8);
  EXPECT_FALSE(exists("v/board/tiny-2"));
  ASSERT_EQ(run(draft()).status, 0);
  EXPECT_EQ(runs(), after) << "nothing was missing";
}

TEST_F(ValidateTest, MoreRunsGoOnWithAFinishedBundle) {
  ASSERT_EQ(run(draft()).status, 0);
  const auto before = runs();
  const Ended more = run(words({"--draft", "--runs", "3", "--repeat-limit", "0", "--json"}));
  ASSERT_EQ(more.status, 0) << more.err;
  const auto after = runs();
  EXPECT_EQ(nlohmann::json::parse(more.out).at("runs"), 12);
  for (const Words& one : before) EXPECT_THAT(after, testing::Contains(one));
  EXPECT_EQ(after.size(), 12U);
  EXPECT_FALSE(exists("v/board/tiny-2"));
}

TEST_F(ValidateTest, AnotherBundleLiesBesideAndLinesStay) {
  ASSERT_EQ(run(draft()).status, 0);
  const std::string first = text("v/board/tiny/measured.csv");
  ASSERT_EQ(run(draft({"seed=4"})).status, 0);
  EXPECT_EQ(text("v/board/tiny/measured.csv"), first);
  EXPECT_TRUE(exists("v/board/tiny-2/measured.csv"));
  ASSERT_EQ(run(draft({"seed=5", "--replace"})).status, 0);
  EXPECT_NE(text("v/board/tiny/measured.csv"), first);
  const auto index = table("v/index.csv");
  ASSERT_EQ(index.rows.size(), 3U);
  EXPECT_EQ(index.text(0, "folder"), "board/tiny");
  EXPECT_EQ(index.text(1, "folder"), "board/tiny-2");
  EXPECT_EQ(index.text(2, "folder"), "board/tiny");
}

TEST_F(ValidateTest, ABundleIsJudgedAgainByALaterPlatformFile) {
  ASSERT_EQ(run(draft()).status, 0);
  // As if a program with another metric had measured.
  auto other = table("v/board/tiny/measured.csv");
  for (auto& name : other.header) {
    if (name == "energy_j_board") name = "energy_of_another_age";
  }
  other.write(path("v/board/tiny/measured.csv"));
  const std::string measured = text("v/board/tiny/measured.csv");
  const std::string simulated = text("v/board/tiny/simulated.csv");
  const Words again{"validate", "--summarise", "v/board/tiny"};
  ASSERT_EQ(run(again).status, 0);
  EXPECT_EQ(text("v/board/tiny/simulated.csv"), simulated) << "nothing has changed";
  EXPECT_THAT(text("v/board/tiny/summary.md"), Not(HasSubstr("is not the one there was")));
  std::string board = text("board.yaml");
  const std::string latency = "latency:\n    value: 45 us";
  ASSERT_NE(board.find(latency), std::string::npos);
  write("board.yaml",
        board.replace(board.find(latency), latency.size(), "latency:\n    value: 450 us"));
  const Ended ended = run(again);
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(text("v/board/tiny/measured.csv"), measured);
  EXPECT_NE(text("v/board/tiny/simulated.csv"), simulated);
  EXPECT_THAT(text("v/board/tiny/summary.md"), HasSubstr("is not the one there was"));
  EXPECT_EQ(text("v/board/tiny/platform-simulated.yaml"), text("board.yaml"));
  EXPECT_EQ(table("v/index.csv").rows.size(), 2U);
  // A trial with other parameters leaves the bundle alone.
  const std::string own = text("v/board/tiny/simulated.csv");
  EXPECT_EQ(run({"validate", "--summarise", "v/board/tiny", "platform=jetson-agx-xavier"}).status,
            2);
  EXPECT_EQ(run({"validate", "--summarise", "v/board/tiny", "platform=jetson-agx-xavier", "--out",
                 "trial"})
                .status,
            0);
  EXPECT_EQ(text("v/board/tiny/simulated.csv"), own);
  EXPECT_THAT(files("trial"), IsSupersetOf({"simulated.csv", "summary.csv", "summary.md"}));
  EXPECT_THAT(files("trial"), Not(Contains("measured.csv")));
}

TEST_F(ValidateTest, RunsThatFailAreListedAndSaid) {
  const Ended ended =
      run(words({"--draft", "--runs", "2", "--repeat-limit", "1", "faults.read_error=100%"}));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("lack a run that ended well"));
  const auto measured = table("v/board/tiny/measured.csv");
  for (std::size_t row = 0; row < measured.rows.size(); ++row) {
    if (measured.text(row, "memory_budget") != "75% of mlp") continue;  // others read nothing
    EXPECT_THAT(measured.text(row, "failure"), HasSubstr("could not be read"));
    EXPECT_EQ(measured.text(row, "counts"), "");
    EXPECT_EQ(measured.text(row, "tpot_ms_mean"), "");
  }
  EXPECT_GE(measured.rows.size(), 8U + 4U) << "those of two cells were repeated";
  EXPECT_TRUE(exists("v/board/tiny/summary.md"));
}

TEST_F(ValidateTest, WhatIsNoValidationIsRefused) {
  refused(words({"--runs", "4"}), HasSubstr("at least 5 runs"));
  refused(words(), HasSubstr("it says nothing of a calibration"));
  const std::string board = text("board.yaml");
  write("board.yaml",
        board +
            "calibration: {date: d, machine: elsewhere, files: f, read_sizes: [4096], "
            "shapes: []}\n");
  refused(words(), testing::AllOf(HasSubstr("on another machine: elsewhere; this is "),
                                  HasSubstr("\n  dense, memory_budget 75% of mlp: reads of 4096"),
                                  HasSubstr("\n  leanstream, memory_budget 100% of mlp: reads")));
  write("board.yaml", board);
  refused(draft({"hardware={}"}), HasSubstr("make one with 'leanstream pack'"));
  refused(draft({"sweep.block_neurons=[1, 2]"}), HasSubstr("-1.image: cannot open"));
  refused(draft({"sweep.platform=[./board.yaml, oneplus-13]"}), HasSubstr("one platform"));
  refused(draft({"system=clairvoyant_plan"}), HasSubstr("searched in the simulation"));
  refused({"validate"}, HasSubstr("needs either an experiment file or --summarise"));
  refused({"validate", "--summarise", "none"}, HasSubstr("none/manifest.json"));
}

}  // namespace
}  // namespace leanstream::experiments
