// Balanced clusters of neurons that are used together, and an order of the clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/place/coactivation.h"

namespace leanstream::learn {

// An order of the neurons whose blocks of k hold neurons that are used together: the nearest-link
// chain is cut into blocks, two neurons of different blocks change places as long as that adds to
// the co-activation within blocks (a few rounds at most), and the blocks are linked to a chain
// themselves, by the mean closeness of their neurons. The neurons of a last, shorter block are
// those that the chain leaves over. Decided on integers.
std::vector<std::int32_t> order_by_clusters(const policy::Coactivation& together, std::int32_t k);

}  // namespace leanstream::learn
