// A cache policy of the engine over a sequence of sets, without time: one cache of a number of
// slots that starts empty. traces/README.md, "Miss ratios", states the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::traces {

class CacheReplay {
 public:
  // The policy was made for as many layers, blocks and slots; it outlives this.
  CacheReplay(policy::CachePolicy& policy, LayerId layers, BlockId blocks_per_layer, SlotId slots);

  // A step wants these blocks, all at once; returns how many were not in the cache. Afterwards it
  // holds them, as far as there is room and the policy does not give them up first.
  BlockId use(LayerId layer, const BlockSet& wanted, StepId step);
  // The same for one block after the other, in rising order.
  BlockId use_one_by_one(LayerId layer, const BlockSet& wanted, StepId step);

  // The prompt has ended; `step` is the first after it.
  void end_prompt(StepId step);

  SlotId held() const { return held_; }
  const BlockSet& resident(LayerId layer) const {
    return resident_[static_cast<std::size_t>(layer)];
  }

 private:
  BlockId look_up(LayerId layer, const BlockSet& wanted, StepId step);
  void evict(LayerId layer, BlockId count);
  void force_out(BlockId count);
  void drop_expired(LayerId layer, StepId step);

  policy::CachePolicy& policy_;
  SlotId slots_;
  SlotId held_ = 0;
  std::vector<BlockSet> resident_;
  std::vector<BlockSet> evictable_;      // the same, less what the step wants
  std::vector<std::uint64_t> versions_;  // policy::CacheView
  std::uint64_t newest_version_ = 0;
  policy::VictimSets victims_;
  BlockSet missing_, one_, expired_;  // scratch
};

}  // namespace leanstream::traces
