// Learns in which order the neurons of a layer should lie on flash.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"
#include "engine/learn/embedding.h"

namespace leanstream::learn {

enum class PlacementPolicy : std::uint8_t {
  frequency,  // by falling use
  pairwise,   // nearest-link chain over co-activation
  embedding,  // contrastive embedding, balanced clusters, a chain of clusters
};

struct PlacementRule {
  PlacementPolicy policy = PlacementPolicy::embedding;
  std::int32_t block_neurons = 2;  // clusters of the embedding
  EmbeddingRule embedding;
};

// What the rule's policy depends on besides block_neurons, for a file.
std::map<std::string, std::string> parameters_of(const PlacementRule& rule);

// order[p] is the neuron at flash position p. active[t] holds the neurons, of `ffn`, that token t
// uses; at most policy::kMostCountedTokens tokens. `layer` tells the random streams apart.
std::vector<std::int32_t> learn_order(const PlacementRule& rule, LayerId layer, std::int32_t ffn,
                                      std::span<const BlockSet> active);

}  // namespace leanstream::learn
