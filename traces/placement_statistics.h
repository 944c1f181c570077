// What an order of neurons on flash is worth on the active sets of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/activations.h"

namespace leanstream::traces {

// A block of k neurons is read when one of them is wanted, blocks that are neighbours in one
// request. Means over tokens and layers, weighted by what they read.
struct PlacementFigures {
  std::int32_t block_neurons = 0;
  double neurons_per_wanted = 0;  // read ÷ wanted
  double blocks_per_request = 0;
  double requests = 0;  // of a layer and token
  double blocks = 0;    // the same
};

struct PlacementStatistics {
  double wanted = 0;    // neurons of a layer and token
  double mean_run = 0;  // of wanted neurons that are neighbours on flash
  std::vector<PlacementFigures> by_block_neurons;
};

// orders[l] as policy::Placement::order: empty for the model's own. Looks at tokens first … end − 1
// of a trace at a density. 0 < density ≤ 1, first < end.
PlacementStatistics placement_statistics(const model::Activations& activations,
                                         std::span<const std::span<const std::int32_t>> orders,
                                         double density, TokenId first, TokenId end,
                                         std::span<const std::int32_t> block_neurons);

}  // namespace leanstream::traces
