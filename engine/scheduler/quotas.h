// How many slots each layer may hold where layers do not share one cache.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::scheduler {

// The misses a least-recently-used cache of one layer would have at every size, looked up set by
// set (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
// 1970): hits()[s] is how many uses hit first in a cache of s blocks.
class StackDistances {
 public:
  explicit StackDistances(BlockId blocks) : hits_(static_cast<std::size_t>(blocks) + 1) {}

  void add(const BlockSet& used);
  const std::vector<std::int64_t>& hits() const { return hits_; }

 private:
  std::vector<BlockSet> by_age_;  // newest last: the blocks whose last use that was
  std::vector<std::int64_t> hits_;
};

class Quotas {
 public:
  Quotas(Scope scope, LayerId layers, BlockId blocks, SlotId slots, SlotId smallest_of_layer);

  bool shared() const { return scope_ == Scope::shared; }
  SlotId of(LayerId layer) const { return quota_[static_cast<std::size_t>(layer)]; }

  // One token of the prompt used these blocks.
  void prompt_used(LayerId layer, const BlockSet& blocks);
  // Fixes the quotas of `by_miss_curve`: lookahead, the layer with the most hits per slot gets
  // them first (Qureshi and Patt, "Utility-based cache partitioning", MICRO 2006, algorithm 2).
  void fix();

 private:
  Scope scope_;
  BlockId blocks_;
  SlotId slots_;
  SlotId smallest_;
  std::vector<SlotId> quota_;
  std::vector<StackDistances> distances_;
};

}  // namespace leanstream::scheduler
