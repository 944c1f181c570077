// Parameters of a flash device from a table of random reads, and how well they say the table.
//
// Least squares of log(model ÷ measured) over the rates and medians of all cells, all weighted
// alike; the model is closed_loop.h. `spread` is the median of log(p99 ÷ p50) ÷ Φ⁻¹(0.99) of queues
// and single requests, by itself. Fitted with and without `span`, in one queue also with and
// without batches; of these the corrected information criterion of Akaike chooses. The simplex
// starts at several points taken from the table. No random numbers: the same table gives the same
// parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/platform/platform.h"
#include "platforms/calibration/closed_loop.h"
#include "platforms/calibration/storage_table.h"

namespace leanstream::calibration {

// Of a device of which only rates were measured; the virtual disk of platforms/measured has 0.24.
inline constexpr double kUnknownSpread = 0.2;

// Four digits: more than any measurement has, and they hide how a machine's log and exp round.
double rounded(double value);

struct Fit {
  platform::Flash flash;
  bool spread_known = true;  // else kUnknownSpread
  bool host_known = true;    // requests_per_s is from the host's processor time, else from `base`
};

// What the table does not tell is left as in `base`: queue_depth (but at least the table's
// largest), logical_block, link_bandwidth (but at least the bandwidth), io_segment_overhead. Throws
// UserError where the cells are fewer than 6, or of one size or depth only.
Fit fit(const StorageTable& table, std::span<const Cell> cells, const platform::Flash& base);

// Model ÷ measured − 1.
struct CellErrors {
  Cell cell;
  double rate = 0;
  std::optional<double> p50, p99;
};
// What the model says of a cell, as errors() and fit() do.
LoopFigures figures_of(const platform::Flash& flash, const Cell& cell);
std::vector<CellErrors> errors(const platform::Flash& flash, std::span<const Cell> cells);

// Of |error|.
struct Quality {
  double median = 0;
  double worst = 0;
};
struct Summary {
  std::size_t cells = 0;
  Quality rate;
  std::optional<Quality> p50, p99;
};
Summary summarise(std::span<const CellErrors> errors);

}  // namespace leanstream::calibration
