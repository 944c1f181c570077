// Recency as sets: one bitset for each (layer, step) holds the blocks whose latest step it is.
#pragma once

#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {

class AgeClasses {
 public:
  AgeClasses(LayerId layers, BlockId blocks_per_layer);

  // The blocks of a layer were touched at `step`; steps of one layer never decrease.
  void stamp(LayerId layer, const BlockSet& blocks, StepId step);
  void stamp(LayerId layer, std::span<const BlockId> blocks, StepId step);

  // Appends at most `count` evictable blocks, oldest first; of equal age the lower block first.
  // Blocks without a stamp come first of all: those never stamped, and those that were not
  // resident when something else was evicted.
  void oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out);

 private:
  struct Class {
    StepId step;
    LayerId layer;
    BlockSet blocks;
  };

  BlockSet& unstamped(LayerId layer) { return unstamped_[static_cast<std::size_t>(layer)]; }
  void drop_empty();

  std::vector<Class> classes_;       // oldest first, one for each (layer, step), none empty
  std::vector<BlockSet> unstamped_;  // of each layer, the blocks without a stamp
  BlockSet touched_;                 // scratch
  std::vector<BlockSet> spare_;      // of classes that are gone
};

}  // namespace leanstream::policy
