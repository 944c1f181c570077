#include "platforms/calibration/fit.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/config/find_file.h"
#include "platforms/calibration/closed_loop.h"
#include "platforms/calibration/platform_yaml.h"
#include "platforms/calibration/simplex.h"

namespace leanstream::calibration {
namespace {

platform::Flash nvme() {
  return {.bandwidth_bytes_per_s = 3e9,
          .stream_bandwidth_bytes_per_s = 1.2e9,
          .requests_per_s = 1e6,
          .latency_ns = 70'000,
          .queue_depth = 64,
          .logical_block_bytes = 512,
          .link_bandwidth_bytes_per_s = 4e9,
          .request_overhead_bytes = 6'000,
          .spread = 0.3};
}

// What the model itself would measure.
StorageTable table_of(const platform::Flash& flash) {
  StorageTable table;
  table.one_queue = true;
  for (const Bytes kib : {4, 16, 64, 256, 1024}) {
    for (const std::int32_t depth : {1, 2, 8, 32}) {
      Cell cell{kib * 1024, depth};
      const auto figures = closed_loop(flash, static_cast<double>(cell.bytes), depth);
      cell.requests_per_s = figures.requests_per_s;
      cell.p50_s = figures.p50_s;
      cell.p99_s = figures.p99_s;
      table.cells.push_back(cell);
    }
  }
  return table;
}

TEST(Simplex, FindsTheBottomOfABentValley) {
  const auto rosenbrock = [](const Point& x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const Point best = minimise(rosenbrock, {-1.2, 1}, 0.5, 400);
  EXPECT_NEAR(best[0], 1, 1e-4);
  EXPECT_NEAR(best[1], 1, 1e-4);
}

TEST(Fit, FindsTheDeviceThatMadeTheTable) {
  const StorageTable table = table_of(nvme());
  const Fit found = fit(table, table.cells, nvme());
  EXPECT_EQ(found.flash.batch, 1);
  EXPECT_NEAR(static_cast<double>(found.flash.latency_ns) / 70e3, 1, 0.01);
  EXPECT_NEAR(found.flash.stream_bandwidth_bytes_per_s / 1.2e9, 1, 0.01);
  EXPECT_NEAR(found.flash.bandwidth_bytes_per_s / 3e9, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(found.flash.request_overhead_bytes) / 6e3, 1, 0.03);
  EXPECT_NEAR(found.flash.spread, 0.3, 1e-3);
  EXPECT_LT(summarise(errors(found.flash, table.cells)).rate.worst, 0.005);
}

TEST(Fit, FindsBatchesAndTheSpan) {
  platform::Flash flash = nvme();
  flash.batch = 64;
  flash.span_bytes = 4'000'000;
  const StorageTable table = table_of(flash);
  const Fit found = fit(table, table.cells, nvme());
  EXPECT_GT(found.flash.batch, 1);
  EXPECT_NEAR(static_cast<double>(found.flash.span_bytes) / 4e6, 1, 0.05);
  EXPECT_LT(summarise(errors(found.flash, table.cells)).rate.worst, 0.01);
}

TEST(Fit, TooLittleIsTheUsersError) {
  StorageTable table = table_of(nvme());
  table.cells.resize(4);  // one size
  EXPECT_THROW(fit(table, table.cells, nvme()), UserError);
}

// The written file is a platform like any other.
TEST(Fit, ItsFileLoads) {
  const auto base = platform::load_platform("oneplus-13");
  const StorageTable table = table_of(nvme());
  const Fit found = fit(table, table.cells, base.platform.flash);
  const auto text =
      platform_text(found, summarise(errors(found.flash, table.cells)), "a 'table'.csv", base);
  config::Diagnostics diagnostics;
  const auto loaded =
      platform::read_platform(config::parse_document(text, "p.yaml", diagnostics), {}, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(loaded.platform.flash.latency_ns, found.flash.latency_ns);
  EXPECT_DOUBLE_EQ(loaded.platform.flash.bandwidth_bytes_per_s, found.flash.bandwidth_bytes_per_s);
  EXPECT_EQ(loaded.platform.flash.request_overhead_bytes, found.flash.request_overhead_bytes);
  EXPECT_EQ(loaded.platform.flash.spread, found.flash.spread);
  EXPECT_EQ(loaded.platform.memory.bandwidth_bytes_per_s,
            base.platform.memory.bandwidth_bytes_per_s);
  EXPECT_EQ(loaded.provenance.size(), base.provenance.size() + 4);
  EXPECT_THAT(loaded.assumed(), testing::Contains("memory.bandwidth"));
  EXPECT_THAT(loaded.assumed(), testing::Not(testing::Contains("flash.latency")));
}

}  // namespace
}  // namespace leanstream::calibration
