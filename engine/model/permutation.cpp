#include "engine/model/permutation.h"

#include <vector>

#include "engine/base/error.h"

namespace leanstream::model {

void check_permutation(const std::string& path, LayerId layer,
                       std::span<const std::int32_t> order) {
  std::vector<bool> seen(order.size());
  for (const std::int32_t j : order) {
    const auto at = static_cast<std::size_t>(j);
    if (j < 0 || at >= seen.size() || seen[at]) {
      throw UserError("{}: the order of layer {} is no permutation: neuron {}", path, layer, j);
    }
    seen[at] = true;
  }
}

}  // namespace leanstream::model
