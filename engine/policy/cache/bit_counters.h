// Use counts of the blocks of every layer as bit planes: counting a whole set is a ripple carry
// over words, and the blocks with the lowest counts are found plane by plane.
#pragma once

#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {

class BitCounters {
 public:
  // Counts saturate at 2^kPlanes − 1.
  static constexpr int kPlanes = 16;

  BitCounters(LayerId layers, BlockId blocks_per_layer);

  void increment(LayerId layer, const BlockSet& blocks);
  std::uint32_t count(LayerId layer, BlockId block) const;

  // Appends the `count` evictable blocks with the lowest counts (all when there are fewer). Where
  // not all of a count are taken: first those of the layer computed longest ago, of a layer the
  // lower blocks.
  void lowest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const;

 private:
  using Sets = std::vector<BlockSet>;  // one a layer

  std::vector<Sets> planes_;  // planes_[p][layer]: bit p of each block's count
};

}  // namespace leanstream::policy
