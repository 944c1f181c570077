// Use counts of the blocks of every layer as bit planes: counting a whole set is a ripple carry
// over words, and the blocks with the lowest count of a layer are found plane by plane.
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
  // These blocks have not been counted yet.
  void reset(LayerId layer, const BlockSet& blocks);
  // Every count becomes half of what it was, rounded down.
  void halve();
  // The counts of a layer's blocks are these.
  void assign(LayerId layer, std::span<const std::uint16_t> counts);

  // Appends the `count` evictable blocks with the lowest counts (all when there are fewer). Where
  // not all of a count are taken: first those of the layer computed longest ago, of a layer the
  // lower blocks.
  void lowest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out);

 private:
  struct Layer {
    std::vector<BlockSet> planes;  // planes[p]: bit p of each block's count
    int used_planes = 0;           // all others are empty
    BlockSet left;                 // evictable when last asked, and not taken since
    BlockSet lowest;               // those of `left` with the lowest count
    BlockSet filled;               // of the words of `lowest`, those that are not 0
    bool known = false;            // `lowest` is found, for the present counts
    std::uint64_t version = 0;     // of the evictable set that is `left`; 0: unknown
  };

  static constexpr std::uint32_t kNothing = UINT32_MAX;  // as a lowest count: nothing is left

  struct LowestTwo {
    LayerId layer;        // the first one with the lowest count
    std::uint32_t least;  // its count
    std::uint32_t other;  // the lowest of the other layers
  };

  LowestTwo lowest_two() const;
  // guess: no count is lower; kNothing for no guess.
  void find_lowest(std::size_t layer, std::uint32_t guess);
  void look_at(const CacheView& cache, std::size_t layer);
  std::span<BlockRef> take(LayerId layer, std::span<BlockRef> room);
  std::span<BlockRef> take_below(LayerId layer, std::uint32_t limit, std::span<BlockRef> room);

  std::vector<Layer> layers_;
  std::vector<std::uint32_t> lowest_counts_;  // of each layer's `lowest`
  BlockSet carry_, both_, below_;             // scratch
};

}  // namespace leanstream::policy
