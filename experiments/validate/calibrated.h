// What a platform was calibrated with. Cells that look the same would only show that the fit fits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::validate {

struct Calibrated {
  std::string date;
  std::string machine;              // as machine() names this one
  std::vector<Bytes> read_sizes;    // bytes of the reads that were measured
  std::vector<std::string> shapes;  // "hidden x ffn" of the MLPs that were measured
};

// What the file of a platform says of it; nothing where it was not calibrated.
std::optional<Calibrated> calibration_of(const platform::LoadedPlatform& platform);

// Processor, cores, memory and kernel, for bundles; nothing that names its owner.
std::string machine();

// The bytes of the reads that a cell asks its flash for: a block, and the most that its loader
// merges.
std::vector<Bytes> read_sizes(const run::Cell& cell);

// A sentence for each cell that calibration has seen, by its reads or by its shape.
std::vector<std::string> seen_in_calibration(const Calibrated& calibrated,
                                             const std::vector<run::Cell>& cells);

}  // namespace leanstream::validate
