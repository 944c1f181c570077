// Least recently used at every size in one pass (Mattson et al., "Evaluation techniques for storage
// hierarchies", IBM Systems Journal 9(2), 1970), exact.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"

namespace leanstream::scheduler {

// hits()[s] is how many uses hit first in a cache of s blocks, shared by all layers, that holds the
// blocks used last; of one use the higher blocks are the newer ones, as in policy::AgeClasses. A
// step is looked up as a set by add(…, BlockSet, …), block by block by add(…, BlockId, …).
class StackDistances {
 public:
  StackDistances(LayerId layers, BlockId blocks_per_layer);

  // A layer was used at `step`; steps of one layer never fall, and no two layers have the same.
  void add(LayerId layer, const BlockSet& used, StepId step);
  void add(LayerId layer, BlockId used, StepId step);

  const std::vector<std::int64_t>& hits() const { return hits_; }
  std::int64_t uses() const { return uses_; }
  // Of uses() in a cache of so many blocks.
  std::int64_t misses(std::int64_t slots) const;
  // Counts from here on; what is cached stays.
  void forget_counts();

 private:
  struct Class {  // the blocks of a layer whose last use was at one step
    StepId step = 0;
    std::int64_t place = 0;  // in the order of all classes; an index of newer_
    BlockId count = 0;
    BlockSet blocks;
  };

  void take_from(Class& c, const BlockSet& used);
  void append(LayerId layer, const BlockSet& used, BlockId count, StepId step);
  void drop_empty(LayerId layer);
  void renumber();
  void change(std::int64_t place, BlockId by);
  std::int64_t newer_than(std::int64_t place) const;

  std::vector<std::vector<Class>> classes_;  // of each layer, oldest first, none empty
  std::vector<std::int64_t> sums_;           // a Fenwick tree over places: blocks
  std::int64_t next_place_ = 0;
  std::int64_t total_ = 0;  // blocks ever used
  std::vector<std::int64_t> hits_;
  std::int64_t uses_ = 0;
  std::vector<BlockSet> spare_;
  BlockSet common_, one_;  // scratch
};

}  // namespace leanstream::scheduler
