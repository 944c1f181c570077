// What a platform was calibrated with. Cells that look the same would only show that the fit fits.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::validate {

// The bytes of the reads that a cell asks its flash for: a block, and the most that its loader
// merges.
std::vector<Bytes> read_sizes(const run::Cell& cell);

// A sentence for each cell that calibration has seen, by its reads or by its shape.
std::vector<std::string> seen_in_calibration(const platform::Calibration& calibration,
                                             const std::vector<run::Cell>& cells);

}  // namespace leanstream::validate
