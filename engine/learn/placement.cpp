#include "engine/learn/placement.h"

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/learn/clusters.h"
#include "engine/policy/place/fit.h"

namespace leanstream::learn {

std::map<std::string, std::string> parameters_of(const PlacementRule& rule) {
  if (rule.policy != PlacementPolicy::embedding) return {};
  const EmbeddingRule& e = rule.embedding;
  return {{"dimensions", fmt::format("{}", e.dimensions)},
          {"iterations", fmt::format("{}", e.iterations)},
          {"contexts", fmt::format("{}", e.contexts)},
          {"rate", fmt::format("{}", e.rate)}};
}

std::vector<std::int32_t> learn_order(const PlacementRule& rule, LayerId layer, std::int32_t ffn,
                                      std::span<const BlockSet> active) {
  switch (rule.policy) {
    case PlacementPolicy::frequency:
      return policy::order_by_use(ffn, active);
    case PlacementPolicy::pairwise:
      return policy::order_by_pairs(ffn, active);
    case PlacementPolicy::embedding:
      break;
  }
  EmbeddingRule own = rule.embedding;
  own.seed = mix(own.seed, static_cast<std::uint64_t>(layer));
  return order_by_clusters(embedded(policy::count_together(ffn, active), own), rule.block_neurons);
}

}  // namespace leanstream::learn
