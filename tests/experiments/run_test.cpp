// leanstream run and sweep: what they write, what they print, and what key=value changes.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

using RunTest = ProgramTest;

std::vector<std::string> first(std::vector<std::string> names, std::size_t count) {
  names.resize(count);
  return names;
}

TEST_F(RunTest, ASweepWritesEverything) {
  const Ended ended = run({"sweep", "sweep.yaml"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, HasSubstr("results: out/tiny/results.csv"));
  EXPECT_THAT(files("out/tiny"), ElementsAre("manifest.json", "report.html", "results.csv",
                                             "timing.csv", "tokens.csv"));
  const auto results = table("out/tiny/results.csv");
  EXPECT_EQ(results.rows.size(), 8u);
  EXPECT_THAT(first(results.header, 9),
              ElementsAre("memory_budget", "model", "platform", "system", "memory_budget_bytes",
                          "seed", "backend", "assumed", "tokens_per_s"));
  EXPECT_EQ(results.header.back(), "failure");
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    EXPECT_EQ(results.text(row, "failure"), "");
    EXPECT_EQ(results.text(row, "backend"), "sim");
    EXPECT_EQ(results.text(row, "commands_hash").size(), 16u);
  }
  EXPECT_EQ(table("out/tiny/timing.csv").rows.size(), 8u);
  EXPECT_EQ(table("out/tiny/tokens.csv").rows.size(), 8u * 18);
  EXPECT_THAT(text("out/tiny/report.html"), HasSubstr("four systems on four layers"));
}

TEST_F(RunTest, TheManifestSaysWhatWasRun) {
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--no-report", "density=40%"}).status, 0);
  const json manifest = json::parse(text("out/tiny/manifest.json"));
  EXPECT_EQ(manifest.at("name"), "tiny");
  EXPECT_EQ(manifest.at("seed"), 3);
  EXPECT_EQ(manifest.at("cells"), 8);
  EXPECT_EQ(manifest.at("backend"), "sim");
  EXPECT_NE(manifest.at("version"), "");
  EXPECT_NE(manifest.at("commit"), "");
  EXPECT_THAT(manifest.at("command").get<std::string>(), HasSubstr("sweep sweep.yaml"));
  EXPECT_EQ(manifest.at("trace").at("hash").get<std::string>().size(), 32u);
  EXPECT_EQ(manifest.at("platform").at("hash").get<std::string>().size(), 32u);
  const json& configuration = manifest.at("configuration");
  EXPECT_EQ(configuration.at("experiment").at("density"), 0.4);
  EXPECT_EQ(configuration.at("experiment").at("select"), "blocks") << "a default, resolved";
  EXPECT_EQ(configuration.at("systems").size(), 4u);
  EXPECT_EQ(configuration.at("models").at("tiny").at("ffn"), 96);
  EXPECT_EQ(configuration.at("sweep").at("memory_budget"), json({"75% of mlp", "100% of mlp"}));
}

std::vector<double> speeds(const report::CsvTable& results) {
  std::vector<double> out;
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    EXPECT_EQ(results.text(row, "failure"), "");
    out.push_back(std::stod(results.text(row, "tokens_per_s")));
  }
  return out;
}

TEST_F(RunTest, BothFidelitiesAgree) {
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--no-report", "--out", "whole"}).status, 0);
  ASSERT_EQ(
      run({"sweep", "sweep.yaml", "--no-report", "--out", "single", "fidelity=request"}).status, 0);
  const auto whole = speeds(table("whole/results.csv"));
  const auto single = speeds(table("single/results.csv"));
  ASSERT_EQ(whole.size(), 8u);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i] / single[i], 1, 0.05);
}

TEST_F(RunTest, FaultsSlowARunDown) {
  ASSERT_EQ(run({"run", "sweep.yaml", "system=leanstream", "memory_budget=75% of mlp"}).status, 0);
  const double healthy = speeds(table("out/tiny/results.csv"))[0];
  for (const char* faults :
       {"faults={late: 20%, late_by: 1 ms}", "faults={stall_from: 3 ms, stall_for: 20 ms}"}) {
    ASSERT_EQ(
        run({"run", "sweep.yaml", "system=leanstream", "memory_budget=75% of mlp", faults}).status,
        0);
    EXPECT_LT(speeds(table("out/tiny/results.csv"))[0], healthy) << faults;
  }
}

TEST_F(RunTest, JsonIsAllThatIsPrinted) {
  const Ended ended = run({"sweep", "sweep.yaml", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json rows = json::parse(ended.out);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0].at("system"), "dense");
  EXPECT_EQ(rows[0].at("memory_budget"), "75% of mlp");
  EXPECT_EQ(rows[0].at("memory_budget_bytes"), kTinyMlpBytes * 3 / 4);
  EXPECT_EQ(std::to_string(rows[0].at("tokens_per_s").get<double>()),
            std::to_string(table("out/tiny/results.csv").number(0, "tokens_per_s").value_or(0)));
  EXPECT_TRUE(rows[0].at("commands_hash").is_string());
  EXPECT_TRUE(rows[0].at("failure").is_null());
}

TEST_F(RunTest, RunWantsOneCell) {
  const Ended many = run({"run", "sweep.yaml", "system=dense"});
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err, HasSubstr("sweep.yaml has 2 cells; set the swept parameters"));
  EXPECT_FALSE(exists("out"));
  const Ended one =
      run({"run", "sweep.yaml", "system=dense", "memory_budget=80% of mlp", "--out", "one"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(files("one"),
              ElementsAre("manifest.json", "results.csv", "timing.csv", "tokens.csv"));
  const auto results = table("one/results.csv");
  ASSERT_EQ(results.rows.size(), 1u);
  EXPECT_EQ(results.header.front(), "model");
  EXPECT_EQ(results.text(0, "memory_budget_bytes"), std::to_string(kTinyMlpBytes * 8 / 10));
}

TEST_F(RunTest, PoliciesOfASystemAreSweptAsWell) {
  write("sweep.yaml", changed_sweep("  system: [dense, llm_in_a_flash, dejavu, leanstream]",
                                    "  system_changes.controller.omega_io: [1, 2, 4]"));
  ASSERT_EQ(run({"sweep", "sweep.yaml", "memory_budget=75% of mlp"}).status, 0);
  const auto results = table("out/tiny/results.csv");
  EXPECT_EQ(results.header.front(), "system_changes.controller.omega_io");
  ASSERT_EQ(results.rows.size(), 3u);
  EXPECT_EQ(results.rows[2].front(), "4");
  EXPECT_NE(results.text(0, "commands_hash"), results.text(1, "commands_hash"));
  EXPECT_NE(results.text(1, "commands_hash"), results.text(2, "commands_hash"));
}

TEST_F(RunTest, AListForADottedNameCanComeFromTheCommandLine) {
  const Ended ended = run({"sweep", "sweep.yaml", "system=leanstream", "memory_budget=50% of mlp",
                           "sweep.system_changes.cache=[lru, lfu]", "--out", "out"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto results = table("out/results.csv");
  ASSERT_EQ(results.rows.size(), 2U);
  EXPECT_EQ(results.text(0, "system_changes.cache"), "lru");
  EXPECT_EQ(results.text(1, "system_changes.cache"), "lfu");
}

TEST_F(RunTest, ASecondRunReplacesTheResults) {
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--out", "o"}).status, 0);
  const std::string before = text("o/results.csv");
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--out", "o"}).status, 0);
  EXPECT_EQ(text("o/results.csv"), before) << "the same inputs give the same bytes";
  ASSERT_EQ(run({"run", "sweep.yaml", "--out", "o", "system=dejavu", "memory_budget=1 MB"}).status,
            0);
  EXPECT_EQ(table("o/results.csv").rows.size(), 1u);
  EXPECT_THAT(files("o"), ElementsAre("manifest.json", "results.csv", "timing.csv", "tokens.csv"))
      << "the report of the results before is gone";
}

TEST_F(RunTest, AFailedCellHasARowThatSaysSo) {
  write("sweep.yaml", changed_sweep("",
                                    "platform_changes: {flash: {latency: 1 s}}\n"
                                    "stall_timeout: 1 ms\n"));
  const Ended ended = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("cells failed"));
  const auto results = table("out/tiny/results.csv");
  ASSERT_EQ(results.rows.size(), 8u);
  EXPECT_THAT(results.text(7, "failure"), HasSubstr("no device answered"));
}

}  // namespace
}  // namespace leanstream::experiments
