// What a validation works out from its tables, by hand.
#include <gmock/gmock.h>

#include "engine/base/median.h"
#include "experiments/run/results.h"
#include "experiments/validate/ablation.h"
#include "experiments/validate/bundle.h"
#include "experiments/validate/calibrated.h"
#include "experiments/validate/errors.h"
#include "experiments/validate/probe.h"
#include "experiments/validate/runs.h"
#include "tests/experiments/program.h"

namespace leanstream::validate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ValidateErrors, MedianHalfRangeAndNineOfTen) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(*half_range({10, 12, 11}), 1.0 / 11);
  EXPECT_EQ(*half_range({7}), 0);
  EXPECT_FALSE(half_range({0, 0}));
  EXPECT_EQ(nine_of_ten({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 9);
  EXPECT_EQ(nine_of_ten({11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 10);
  EXPECT_EQ(nine_of_ten({5}), 5);
}

// Two cells, of which the second never misses; rows that do not count, and one that failed.
report::CsvTable measured_table() {
  return report::CsvTable::parse(
      "cell,counts,tpot_ms_mean,tpot_ms_p99,miss_ratio_final,failure\n"
      "0,yes,10,20,0.5,\n0,yes,11,21,0.5,\n0,yes,12,28,0.5,\n0,,99,99,0.5,\n0,yes,,,,dead\n"
      "1,yes,20,40,0,\n",
      "measured");
}
report::CsvTable simulated_table() {
  return report::CsvTable::parse(
      "cell,tpot_ms_mean,tpot_ms_p99,miss_ratio_final,failure\n"
      "0,8.8,26,0.6,\n1,22,20,0.1,\n1,24,24,0,\n",
      "simulated");
}

const Comparison& of(const std::vector<Comparison>& all, std::size_t cell, const char* metric) {
  for (const Comparison& c : all) {
    if (c.cell == cell && c.metric == metric) return c;
  }
  throw std::runtime_error("no such comparison");
}

TEST(ValidateErrors, AnErrorIsSimulatedOverTheMedianOfTheRunsThatCount) {
  const auto all = compare(2, measured_table(), simulated_table());
  const Comparison& first = of(all, 0, "tpot_ms_mean");
  EXPECT_EQ(first.runs, 3U);
  EXPECT_EQ(first.measured, 11);
  EXPECT_DOUBLE_EQ(*first.half_range, 1.0 / 11);
  EXPECT_DOUBLE_EQ(*first.error, -0.2);
  EXPECT_DOUBLE_EQ(*of(all, 1, "tpot_ms_mean").error, 0.15);  // of 23, the median of both
  EXPECT_DOUBLE_EQ(*of(all, 0, "miss_ratio_final").error, 0.6 / 0.5 - 1);
  EXPECT_FALSE(of(all, 1, "miss_ratio_final").error) << "nothing is no share of 0";
  EXPECT_FALSE(of(all, 0, "bytes_read").error) << "the tables do not have it";

  const auto metrics = summarise(all);
  const MetricSummary* time = find(metrics, "tpot_ms_mean");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->cells, 2U);
  EXPECT_DOUBLE_EQ(time->median_error, 0.175);
  EXPECT_DOUBLE_EQ(time->nine_of_ten, 0.2);
  EXPECT_DOUBLE_EQ(time->worst, -0.2);
  EXPECT_EQ(time->worst_cell, 0U);
  EXPECT_DOUBLE_EQ(time->median_half_range, (1.0 / 11 + 0) / 2);
  EXPECT_EQ(find(metrics, "bytes_read"), nullptr);
}

TEST(ValidateErrors, VerdictsHoldToTheHardwaresOwnSpread) {
  const auto all = compare(2, measured_table(), simulated_table());
  const auto list = verdicts(all, check_order(all, {"a", "a"}));
  ASSERT_EQ(list.size(), 4U);
  EXPECT_FALSE(list[0].holds);
  EXPECT_FALSE(list[1].holds);
  // Of the first cell 26 ÷ 21 − 1 = 24 %, of the second 22 ÷ 40 − 1 = −45 %.
  EXPECT_THAT(list[2].text, HasSubstr("in 0 of 2 cells"));
  EXPECT_TRUE(list[3].holds);
  EXPECT_THAT(list[3].text, HasSubstr("1 of 1 pairs"));
}

Comparison time_of(std::size_t cell, double measured, double simulated) {
  Comparison c{.cell = cell, .metric = "tpot_ms_mean"};
  c.measured = measured;
  c.simulated = simulated;
  c.error = simulated / measured - 1;
  return c;
}

TEST(ValidateErrors, OrderIsAskedOfPairsThatDifferByMoreThanATenth) {
  const std::vector<Comparison> all{time_of(0, 10, 10), time_of(1, 10.9, 9), time_of(2, 12, 9.5),
                                    time_of(3, 30, 1)};
  const auto check = check_order(all, {"a", "a", "a", "b"});
  EXPECT_EQ(check.pairs, 2U);  // 0 and 2, 1 and 2: 12 ÷ 10.9 = 1.101
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_EQ(check.violations[0].faster, 0U);
  EXPECT_EQ(check.violations[0].slower, 2U);
  EXPECT_DOUBLE_EQ(check.violations[0].measured, 1.2);
  EXPECT_DOUBLE_EQ(check.violations[0].simulated, 0.95);
}

TEST(ValidateErrors, DriftIsTheFartherOfBothPartsFromItsMedian) {
  const auto drift = drifts({{10, 2}, {10, 2}, {12, 2}, {10, 1}, {9, 2.1}});
  ASSERT_EQ(drift.size(), 5U);
  EXPECT_DOUBLE_EQ(drift[0], 0);
  EXPECT_NEAR(drift[2], 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(drift[3], 0.5);
  EXPECT_NEAR(drift[4], 0.1, 1e-12);
  EXPECT_TRUE(drifts({}).empty());
}

run::CellRows rows_of(const std::string& failure) {
  run::CellRows rows;
  rows.result.resize(run::result_header(run::Cell{}).size());
  rows.result.back() = failure;
  return rows;
}

std::vector<std::string> column(const MeasuredRuns& runs, const char* name) {
  std::vector<std::string> values;
  for (std::size_t row = 0; row < runs.table().rows.size(); ++row) {
    values.push_back(runs.table().text(row, name));
  }
  return values;
}

TEST(ValidateErrors, ARunThatDriftedOrFailedIsRepeatedAndStaysListed) {
  const run::Cell cell;
  MeasuredRuns runs(cell);
  EXPECT_TRUE(runs.lacks(0, 0));
  runs.add({0, 0, 0}, cell, "t", {10, 1}, rows_of(""));
  runs.add({0, 1, 0}, cell, "t", {12, 1}, rows_of(""));
  runs.add({0, 2, 0}, cell, "t", {10, 1}, rows_of("dead"));
  EXPECT_FALSE(runs.lacks(0, 0));
  EXPECT_TRUE(runs.lacks(0, 1));
  EXPECT_TRUE(runs.lacks(0, 2));
  EXPECT_THAT(column(runs, "counts"), ElementsAre("yes", "yes", ""));
  EXPECT_EQ(runs.still_drifted(), 1U);
  runs.add({0, 1, 1}, cell, "t", {10, 1}, rows_of(""));
  runs.add({0, 2, 1}, cell, "t", {10, 1}, rows_of(""));
  EXPECT_FALSE(runs.lacks(0, 1));
  EXPECT_FALSE(runs.lacks(0, 2));
  EXPECT_EQ(runs.attempts(0, 1), 2);
  EXPECT_THAT(column(runs, "counts"), ElementsAre("yes", "", "", "yes", "yes"));
  EXPECT_THAT(column(runs, "drifted"), ElementsAre("", "yes", "", "", ""));
  EXPECT_EQ(runs.repeated(), 2U);
  EXPECT_EQ(runs.failed(), 1U);
  EXPECT_EQ(runs.still_drifted(), 0U);
}

TEST(ValidateErrors, LinesAreOnlyAddedToTheIndex) {
  const traces::TemporaryFolder folder;
  const std::string path = folder.file("index.csv");
  IndexLine line;
  line.date = "1";
  line.folder = "board/tiny";
  line.median_error = "0.0500";
  add_to_index(path, line);
  line.date = "2";
  add_to_index(path, line);
  EXPECT_EQ(report::CsvTable::read(path).rows.size(), 1U) << "it says nothing new";
  line.median_error = "0.0400";
  add_to_index(path, line);
  line.folder = "board/tiny-2";
  add_to_index(path, line);
  const auto table = report::CsvTable::read(path);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.text(0, "date"), "1");
  EXPECT_EQ(table.text(0, "median_error"), "0.0500");
  EXPECT_EQ(table.text(1, "median_error"), "0.0400");
  EXPECT_EQ(table.text(2, "folder"), "board/tiny-2");
}

class ValidateCellsTest : public experiments::ProgramTest {
 protected:
  std::vector<run::Cell> cells(const std::vector<std::string>& more = {}) const {
    return load({path("sweep.yaml"), text("sweep.yaml"), more});
  }
};

TEST_F(ValidateCellsTest, CellsThatCalibrationHasSeenAreNamed) {
  const auto all = cells();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_THAT(read_sizes(all.front()), ElementsAre(1024, 48 * 1024)) << "dense reads whole layers";
  EXPECT_THAT(read_sizes(all.back()), ElementsAre(1024));
  EXPECT_TRUE(seen_in_calibration({"", "", "", {4096, 2048}, {"96 x 64"}}, all).empty());
  EXPECT_THAT(
      seen_in_calibration({"", "", "", {48 * 1024}, {}}, all),
      ElementsAre("dense, memory_budget 75% of mlp: reads of 49152 bytes were calibrated",
                  "dense, memory_budget 100% of mlp: reads of 49152 bytes were calibrated"));
  EXPECT_EQ(seen_in_calibration({"", "", "", {1024}, {}}, all).size(), 8U);
  EXPECT_EQ(seen_in_calibration({"", "", "", {}, {"64 x 96"}}, all).size(), 8U);
}

TEST_F(ValidateCellsTest, AnEffectIsOffInItsCellsAlone) {
  const auto with = cells();
  std::size_t absent = 0;
  for (const Effect& effect : effects()) {
    SCOPED_TRACE(effect.name);
    ASSERT_FALSE(effect.off.empty());
    const auto without = cells(effect.off);
    ASSERT_EQ(without.size(), with.size());
    absent += !differ(with, without);
  }
  EXPECT_FALSE(differ(with, cells()));
  EXPECT_LT(absent, effects().size());
  EXPECT_TRUE(differ(with, cells({"platform_changes.flash.io_segment_overhead=0 us"})));
}

TEST_F(ValidateCellsTest, TheImageIsNamedByTheCellsValues) {
  const auto all = cells(
      {"hardware.image=a-{block_neurons}-{memory_budget}.image", "sweep.block_neurons=[1, 2]"});
  ASSERT_EQ(all.size(), 16U);
  EXPECT_EQ(all[0].spec.experiment.hardware.image, "a-1-75% of mlp.image");
  EXPECT_EQ(all[3].spec.experiment.hardware.image, "a-2-100% of mlp.image");
  try {
    cells({"hardware.image=a-{block_neuron}.image"});
    FAIL() << "was not refused";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("{block_neuron} names no value of this experiment"));
  }
}

}  // namespace
}  // namespace leanstream::validate
