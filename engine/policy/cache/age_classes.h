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

  // Appends at most `count` evictable blocks, oldest first; of equal age the lower block first.
  // Blocks never stamped come first of all.
  void oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const;

 private:
  struct Class {
    StepId step;
    BlockSet blocks;
  };

  std::vector<std::vector<Class>> layers_;  // of each layer, oldest first, none empty
  std::vector<BlockSet> never_;             // of each layer, the blocks without a stamp
};

}  // namespace leanstream::policy
