// How many slots each layer may hold where layers do not share one cache.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/scheduler/run_spec.h"
#include "engine/scheduler/stack_distances.h"

namespace leanstream::scheduler {

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
  std::vector<StackDistances> distances_;  // of each layer alone
  StepId prompt_uses_ = 0;
};

}  // namespace leanstream::scheduler
