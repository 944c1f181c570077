// The fewest misses that any on-demand cache could have had on a sequence of sets: Belady's bound
// ("A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2),
// 1966, algorithm MIN), looked up set by set, with bypass, exact.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"

namespace leanstream::scheduler {

// Rules: one cache for all layers; an access misses each wanted block that is not in the cache;
// afterwards the cache keeps the `capacity` blocks with the nearest next use among what it held and
// what was wanted (so a wanted block need not be kept: bypass).
class BeladyBound {
 public:
  BeladyBound(LayerId layers, BlockId blocks_per_layer);

  // Room for so many, so that add() need not allocate.
  void reserve(std::int64_t steps, std::int64_t accesses);

  // The next step of the sequence wants these blocks of this layer.
  void add(LayerId layer, const BlockSet& wanted);

  std::int64_t steps() const { return static_cast<std::int64_t>(step_begin_.size()) - 1; }
  // Blocks wanted in steps ≥ from_step.
  std::int64_t accesses(std::int64_t from_step = 0) const;

  // The fewest misses in steps ≥ from_step of any cache of `capacity` ≥ 0 blocks: at from_step it
  // holds the blocks with the nearest next use, as many as fit, of those wanted before (a cache
  // that starts empty at step 0), or, with warm_start, of all blocks.
  // O(accesses + steps · steps ÷ 64) at worst.
  std::int64_t misses(std::int64_t capacity, std::int64_t from_step = 0,
                      bool warm_start = false) const;

 private:
  BlockId blocks_per_layer_;
  std::vector<std::int64_t> step_begin_{0};  // accesses of step i: step_begin_[i] … [i+1] − 1
  std::vector<std::int32_t> next_step_;      // per access: the step that wants the block again
  std::vector<std::int64_t> last_access_;    // per block: its newest access, −1 before the first
  std::vector<std::int32_t> first_uses_;     // per step: how many blocks are wanted the first time
};

}  // namespace leanstream::scheduler
