// Parameters from one half of a measured table must say the other half.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "platforms/calibration/fit.h"

namespace leanstream::calibration {
namespace {

// What the tables do not tell.
const platform::Flash kBase{.requests_per_s = 100e3,
                            .queue_depth = 32,
                            .logical_block_bytes = 4096,
                            .link_bandwidth_bytes_per_s = 5.8e9};

StorageTable measured(const std::string& name) {
  config::Diagnostics diagnostics;
  auto table =
      read_csv(read_file(LEANSTREAM_SOURCE_DIR "/platforms/measured/" + name), name, diagnostics);
  diagnostics.throw_if_any();
  return table;
}

TEST(Halves, OfTheVirtualDisk) {
  const StorageTable table = measured("vm_disk.csv");
  ASSERT_EQ(table.cells.size(), 40u);
  for (const int half : {0, 1}) {
    const Fit fitted = fit(table, table.half(half), kBase);
    EXPECT_GT(fitted.flash.batch, 1);
    EXPECT_TRUE(fitted.spread_known && fitted.host_known);
    const auto other = errors(fitted.flash, table.half(1 - half));
    const Summary summary = summarise(other);
    EXPECT_LE(summary.rate.median, 0.10);
    EXPECT_LE(summary.rate.worst, 0.35);
    EXPECT_LE(summary.p50->median, 0.10);
    EXPECT_LE(summary.p50->worst, 0.35);
    EXPECT_LE(summary.p99->median, 0.25);
    const auto within = std::count_if(other.begin(), other.end(), [](const CellErrors& e) {
      return std::abs(e.rate) <= std::max(0.15, e.cell.spread.value_or(0));
    });
    EXPECT_GE(within, 17);
  }
}

TEST(Halves, OfTheUfsOfAPhone) {
  const StorageTable table = measured("oneplus_15r.csv");
  ASSERT_EQ(table.cells.size(), 28u);
  for (const int half : {0, 1}) {
    const Fit fitted = fit(table, table.half(half), kBase);
    EXPECT_EQ(fitted.flash.batch, 1);
    EXPECT_FALSE(fitted.spread_known);
    const auto other = errors(fitted.flash, table.half(1 - half));
    const Summary summary = summarise(other);
    EXPECT_LE(summary.rate.median, 0.06);
    EXPECT_LE(summary.rate.worst, 0.15);
  }
}

}  // namespace
}  // namespace leanstream::calibration
