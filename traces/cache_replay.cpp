#include "traces/cache_replay.h"

#include "engine/base/check.h"
#include "engine/base/vector_sets.h"

namespace leanstream::traces {

CacheReplay::CacheReplay(policy::CachePolicy& policy, LayerId layers, BlockId blocks_per_layer,
                         SlotId slots)
    : policy_(policy),
      slots_(slots),
      resident_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
      evictable_(resident_),
      versions_(static_cast<std::size_t>(layers)),
      victims_(layers, blocks_per_layer),
      missing_(blocks_per_layer),
      one_(blocks_per_layer),
      expired_(blocks_per_layer) {
  LEANSTREAM_CHECK(slots >= 1, "{} slots", slots);
}

BlockId CacheReplay::use(LayerId layer, const BlockSet& wanted, StepId step) {
  const BlockId missed = look_up(layer, wanted, step);
  drop_expired(layer, step);
  return missed;
}

BlockId CacheReplay::use_one_by_one(LayerId layer, const BlockSet& wanted, StepId step) {
  BlockId missed = 0;
  wanted.for_each([&](BlockId b) {
    one_.set(b);
    missed += look_up(layer, one_, step);
    one_.reset(b);
  });
  drop_expired(layer, step);
  return missed;
}

BlockId CacheReplay::look_up(LayerId layer, const BlockSet& wanted, StepId step) {
  const auto l = static_cast<std::size_t>(layer);
  const BlockId missed =
      vector_look_up(wanted.words(), resident_[l].words(), missing_.words(), evictable_[l].words());
  if (missed > 0) {
    versions_[l] = 0;
    evict(layer, held_ + missed - slots_);
    held_ += missed;
    policy_.inserted(layer, missing_, step);
  }
  policy_.used(layer, wanted, step);
  if (missed > 0) {
    resident_[l] |= missing_;
    versions_[l] = ++newest_version_;
  }
  evictable_[l] = resident_[l];
  if (held_ > slots_) {  // the policy keeps the others, or the set is larger than the cache
    evict(layer, held_ - slots_);
    if (held_ > slots_) force_out(held_ - slots_);
  }
  return missed;
}

void CacheReplay::evict(LayerId layer, BlockId count) {
  if (count <= 0) return;
  victims_.clear();
  policy_.victim_sets({evictable_, layer, resident_, versions_}, count, victims_);
  LEANSTREAM_CHECK(victims_.count() <= count, "{} victims for {} blocks", victims_.count(), count);
  for (const auto& [victims_layer, blocks] : victims_.chunks()) {
    const auto i = static_cast<std::size_t>(victims_layer);
    vector_remove(resident_[i].words(), blocks.words());
    vector_remove(evictable_[i].words(), blocks.words());
  }
  held_ -= victims_.count();
}

// What the policy would not give up: the lowest layers and blocks, as in a run.
void CacheReplay::force_out(BlockId count) {
  for (std::size_t l = 0; l < resident_.size() && count > 0; ++l) {
    const BlockSet candidates = resident_[l];
    candidates.for_each_while([&](BlockId b) {
      resident_[l].reset(b);
      --held_;
      return --count > 0;
    });
    evictable_[l] = resident_[l];
    versions_[l] = ++newest_version_;
  }
}

void CacheReplay::drop_expired(LayerId layer, StepId step) {
  const auto l = static_cast<std::size_t>(layer);
  expired_.clear();
  policy_.expired(layer, resident_[l], step, expired_);
  expired_ &= resident_[l];
  const BlockId count = expired_.count();
  if (count == 0) return;
  held_ -= count;
  resident_[l] -= expired_;
  evictable_[l] = resident_[l];
  versions_[l] = ++newest_version_;
}

void CacheReplay::end_prompt(StepId step) {
  policy_.prompt_ended();
  for (std::size_t l = 0; l < resident_.size(); ++l) drop_expired(static_cast<LayerId>(l), step);
}

}  // namespace leanstream::traces
