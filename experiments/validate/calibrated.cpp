#include "experiments/validate/calibrated.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/run/cell_activations.h"

namespace leanstream::validate {

std::vector<Bytes> read_sizes(const run::Cell& cell) {
  const run::CellActivations activations(cell);
  const run::CellPolicies policies(cell, activations.view());
  const auto merged = static_cast<Bytes>(
      std::clamp(policies.view().loader->merge_blocks(), 1, cell.geometry.blocks_per_layer));
  std::vector<Bytes> sizes{cell.geometry.block_bytes};
  if (merged > 1) sizes.push_back(merged * cell.geometry.block_bytes);
  return sizes;
}

std::vector<std::string> seen_in_calibration(const platform::Calibration& calibration,
                                             const std::vector<run::Cell>& cells) {
  std::vector<std::string> sentences;
  for (const run::Cell& cell : cells) {
    const auto shape = fmt::format("{} x {}", cell.model.shape.hidden, cell.model.shape.ffn);
    if (std::ranges::find(calibration.shapes, shape) != calibration.shapes.end()) {
      sentences.push_back(fmt::format("{}: MLPs of {} were calibrated", run::label(cell), shape));
    }
    for (const Bytes bytes : read_sizes(cell)) {
      if (std::ranges::find(calibration.read_sizes, bytes) == calibration.read_sizes.end())
        continue;
      sentences.push_back(
          fmt::format("{}: reads of {} bytes were calibrated", run::label(cell), bytes));
    }
  }
  return sentences;
}

}  // namespace leanstream::validate
