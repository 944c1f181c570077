// What must hold of the four systems' results, whatever the figures.
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

class SystemsTest : public ProgramTest {
 protected:
  // Four systems at budgets from just above the smallest to more than all blocks.
  report::CsvTable results() {
    write("sweep.yaml", changed_sweep("  memory_budget: [75% of mlp, 100% of mlp]",
                                      "  memory_budget: [132 KiB, 75% of mlp, 90% of mlp, "
                                      "100% of mlp, 288 KiB]"));
    const Ended ended = run({"sweep", "sweep.yaml", "density=25%", "--no-report"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    auto table = this->table("out/tiny/results.csv");
    EXPECT_EQ(table.rows.size(), 20u);
    return table;
  }
};

TEST_F(SystemsTest, HoldToTheirBudgetDensityAndBounds) {
  const auto table = results();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string system = table.text(row, "system");
    SCOPED_TRACE(system + " at " + table.text(row, "memory_budget"));
    // Absent is NaN, which fails every expectation below.
    const auto figure = [&](const char* name) {
      return table.number(row, name).value_or(std::numeric_limits<double>::quiet_NaN());
    };
    EXPECT_LE(figure("memory_bytes_cache"), figure("memory_budget_bytes"));
    EXPECT_EQ(figure("computed_share"), system == "dense" ? 1 : 0.25);
    EXPECT_GE(figure("miss_ratio_demand"), figure("belady_miss_ratio"));
    EXPECT_LE(figure("miss_ratio_demand"), 1);
    EXPECT_GT(figure("tokens_per_s"), 0);
    EXPECT_EQ(figure("bytes_wanted"),
              static_cast<double>(kTinyMlpBytes) * figure("computed_share"));
    if (system == "dejavu") {
      EXPECT_EQ(figure("bytes_read"), figure("bytes_wanted")) << "nothing is kept";
    } else if (figure("memory_budget_bytes") >= kTinyMlpBytes) {
      EXPECT_EQ(figure("bytes_read"), 0) << "all blocks are there after the prompt";
      EXPECT_EQ(figure("miss_ratio_demand"), 0);
    } else {
      EXPECT_GT(figure("bytes_read"), 0);
    }
  }
}

TEST_F(SystemsTest, DenseNeverSlowsDownWithMoreMemory) {
  const auto table = results();
  double before = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "system") != "dense") continue;
    const double now = table.number(row, "tokens_per_s").value_or(0);
    EXPECT_GE(now, before) << table.text(row, "memory_budget");
    before = now;
  }
  EXPECT_GT(before, 0);
}

TEST_F(SystemsTest, TokensAddUpToTheRun) {
  const auto table = results();
  const auto tokens = this->table("out/tiny/tokens.csv");
  std::map<std::string, double> time, bytes;
  for (std::size_t row = 0; row < tokens.rows.size(); ++row) {
    time[tokens.text(row, "cell")] += tokens.number(row, "tpot_ms").value_or(0);
    bytes[tokens.text(row, "cell")] += tokens.number(row, "bytes_read").value_or(0);
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string cell = std::to_string(row);
    const double all_ms = table.number(row, "request_latency_ms").value_or(0) -
                          table.number(row, "prefill_ms").value_or(0);
    EXPECT_NEAR(time[cell], all_ms, 1e-9 * all_ms) << cell;
    EXPECT_NEAR(bytes[cell], 18 * table.number(row, "bytes_read").value_or(0), 1e-3) << cell;
  }
}

}  // namespace
}  // namespace leanstream::experiments
