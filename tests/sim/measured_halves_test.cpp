// The device itself, not only its closed form: fitted to one half of the measured disk, its
// simulation of every request says the other half.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "platforms/calibration/fit.h"
#include "tests/sim/kept_queue.h"

namespace leanstream::sim {
namespace {

TEST(MeasuredHalves, TheSimulatedDiskSaysTheOtherHalf) {
  config::Diagnostics diagnostics;
  const auto table =
      calibration::read_csv(read_file(LEANSTREAM_SOURCE_DIR "/platforms/measured/vm_disk.csv"),
                            "vm_disk.csv", diagnostics);
  diagnostics.throw_if_any();
  platform::Flash base = round_device().flash;
  base.io_segment_overhead_ns = 0;
  for (const int half : {0, 1}) {
    const platform::Flash flash = calibration::fit(table, table.half(half), base).flash;
    std::vector<calibration::CellErrors> errors;
    for (const auto& cell : table.half(1 - half)) {
      // As many batches at each depth, since a batch is one draw.
      const Loop loop =
          keep(flash, cell.bytes, cell.depth, 2000 * static_cast<std::size_t>(cell.depth));
      errors.push_back({cell, loop.requests_per_s / cell.requests_per_s - 1,
                        loop.quantile(0.5) / *cell.p50_s - 1,
                        loop.quantile(0.99) / *cell.p99_s - 1});
    }
    const auto summary = calibration::summarise(errors);
    EXPECT_LE(summary.rate.median, 0.10);
    EXPECT_LE(summary.rate.worst, 0.35);
    EXPECT_LE(summary.p50->median, 0.10);
    EXPECT_LE(summary.p50->worst, 0.35);
    EXPECT_LE(summary.p99->median, 0.25);
    EXPECT_GE(std::ranges::count_if(errors,
                                    [](const auto& e) {
                                      return std::abs(e.rate) <=
                                             std::max(0.15, e.cell.spread.value_or(0));
                                    }),
              17);
  }
}

}  // namespace
}  // namespace leanstream::sim
