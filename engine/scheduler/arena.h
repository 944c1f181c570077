// The arena: a fixed number of slots, each with one block, and who is where. In flight counts: a
// read reserves its slots when it is submitted, so the budget is never exceeded.
#pragma once

#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::scheduler {

class Arena {
 public:
  Arena(LayerId layers, BlockId blocks_per_layer, SlotId slots);

  SlotId slots() const { return slots_; }
  SlotId free_slots() const { return static_cast<SlotId>(free_.size()); }

  const BlockSet& resident(LayerId l) const { return resident_[static_cast<std::size_t>(l)]; }
  const BlockSet& in_flight(LayerId l) const { return in_flight_[static_cast<std::size_t>(l)]; }
  std::span<const BlockSet> all_resident() const { return resident_; }
  // Rises whenever the resident set of the layer changes.
  std::uint64_t version(LayerId l) const { return version_[static_cast<std::size_t>(l)]; }
  // Slots that the layer has, in flight included.
  SlotId held(LayerId l) const { return held_[static_cast<std::size_t>(l)]; }
  SlotId slot_of(LayerId l, BlockId b) const { return slot_[index(l, b)]; }

  // absent → in flight; needs as many free slots. slots[i] becomes the slot of blocks[i].
  void reserve(LayerId l, std::span<const BlockId> blocks, std::span<SlotId> slots);
  // The same, but blocks in `passing` only take slots: who they are is not noted, so they may be
  // there as well.
  void reserve(LayerId l, std::span<const BlockId> blocks, const BlockSet& passing,
               std::span<SlotId> slots);
  // The slot of a block that only passed.
  void free_passed(LayerId l, SlotId slot);
  // in flight → resident
  void arrived(LayerId l, std::span<const BlockId> blocks);
  // in flight → absent: its read failed
  void cancel(LayerId l, BlockId b);
  // resident → absent; all are of layer l
  void evict(LayerId l, std::span<const policy::BlockRef> victims);

  // Every slot is free, passed through, in flight or resident, once.
  void check() const;

 private:
  std::size_t index(LayerId l, BlockId b) const {
    return static_cast<std::size_t>(l) * static_cast<std::size_t>(blocks_per_layer_) +
           static_cast<std::size_t>(b);
  }

  BlockId blocks_per_layer_;
  SlotId slots_;
  SlotId in_flight_count_ = 0;
  SlotId passing_count_ = 0;
  std::vector<BlockSet> resident_;
  std::vector<BlockSet> in_flight_;
  std::vector<std::uint64_t> version_;
  std::vector<SlotId> held_;
  std::vector<SlotId> slot_;  // of each block, kNone when absent
  std::vector<SlotId> free_;  // a stack; the lowest slot on top at the start
};

}  // namespace leanstream::scheduler
