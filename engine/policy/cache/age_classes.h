// Recency as sets: one bitset for each (layer, step) holds the blocks whose latest step it is.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {

class AgeClasses {
 public:
  AgeClasses(LayerId layers, BlockId blocks_per_layer);

  // The blocks of a layer were touched at `step`; steps of one layer never decrease.
  void stamp(LayerId layer, const BlockSet& blocks, StepId step);
  // From now on they have no stamp.
  void remove(LayerId layer, const BlockSet& blocks);
  void remove(const BlockRef& ref);
  bool stamped(LayerId layer, BlockId block) const {
    return !unstamped_[static_cast<std::size_t>(layer)].test(block);
  }

  // Appends at most `count` evictable blocks, oldest first; of equal age the lower layer, then the
  // lower block first. Blocks without a stamp come first of all: those never stamped, and, where
  // the view has residents, those that were not resident at an earlier call or were named by it.
  void oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out);
  void oldest(const CacheView& cache, BlockId count, VictimSets& out);

  // The oldest of all stamped blocks, or of those among `candidates` (one set a layer, may be
  // empty: all).
  std::optional<BlockRef> first(std::span<const BlockSet> candidates = {}) const;

 private:
  struct Class {
    StepId step;
    BlockSet blocks;
  };

  BlockSet& unstamped(LayerId layer) { return unstamped_[static_cast<std::size_t>(layer)]; }
  template <typename Take>
  BlockId take_unstamped(const CacheView& cache, BlockId count, Take&& take);
  template <typename Take>
  void take_oldest(const CacheView& cache, BlockId count, Take&& take);
  bool drop(Class& c, std::size_t layer, const CacheView& cache);
  void begin_walk() const;
  LayerId oldest_layer() const;
  void walk_on(LayerId layer) const;
  void drop_empty(std::size_t layer);

  std::vector<std::vector<Class>> classes_;  // of each layer, oldest first, none empty
  std::vector<BlockSet> unstamped_;          // of each layer, the blocks without a stamp
  std::vector<StepId> fronts_;               // of each layer, the step of its oldest class
  // Of each layer, a version of its evictable set in which all had a stamp; 0: not known.
  std::vector<std::uint64_t> all_stamped_;
  mutable std::vector<std::size_t> at_;  // of each layer, the class that a walk has come to
  mutable std::vector<StepId> step_at_;  // its step
  BlockSet chosen_;                      // scratch
  std::vector<BlockSet> spare_;          // of classes that are gone
};

}  // namespace leanstream::policy
