// Which neurons a density keeps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"

namespace leanstream::transformer {

struct SelectionRule {
  double density = 1;             // share of the units that is kept, above 0 to 1
  std::int32_t unit_neurons = 1;  // neighbouring neurons that are chosen together; 1: each alone
};

// The neurons of the model::kept_count units of largest summed importance; of equal ones the first.
// importance [ffn], ≥ 0; active has size ffn. A NaN counts as largest.
void select_active(std::span<const float> importance, const SelectionRule& rule, BlockSet& active);

}  // namespace leanstream::transformer
