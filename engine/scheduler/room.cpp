// Room in the arena: what is evicted for what is read.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

// Slots that a read of the layer may take as they are. In prefill all layers share the arena.
SlotId Scheduler::free_slots(LayerId layer) const {
  const SlotId free = arena_.free_slots();
  if (quotas_.shared() || prefilling_) return free;
  return std::clamp<SlotId>(quotas_.of(layer) - arena_.held(layer), 0, free);
}

// Frees slots until `count` are free, as far as that is possible; returns how many of `count`
// there are.
BlockId Scheduler::make_room(const LayerWork& work, BlockId count) {
  const LayerId only = quotas_.shared() || prefilling_ ? kNone : work.layer;
  const auto lacking = [&] { return count - std::min(count, free_slots(work.layer)); };
  if (lacking() > 0) evict(Tier::unwanted, only, lacking());
  if (&work == current_ && work.final) {  // demand may take what a prediction only hopes for
    if (free_slots(work.layer) == 0) evict(Tier::next_layer, only, lacking());
    if (free_slots(work.layer) == 0) evict(Tier::computed, only, lacking());
  }
  return count - lacking();
}

// Evicts up to `count` blocks, of layer `only` if it is not kNone.
void Scheduler::evict(Tier tier, LayerId only, BlockId count) {
  if (count <= 0) return;
  for (LayerId l = 0; l < spec_.layers; ++l) {
    const auto i = static_cast<std::size_t>(l);
    if (only != kNone && l != only) {
      evictable_[i].clear();
      evictable_as_of_[i] = evictable_versions_[i] = 0;
    } else if (evictable_as_of_[i] != arena_.version(l)) {
      evictable_[i] = arena_.resident(l);
      evictable_as_of_[i] = arena_.version(l);
      evictable_versions_[i] = ++newest_version_;
    }
  }
  const auto keep = [&](LayerId layer, const BlockSet& kept) {
    evictable_[static_cast<std::size_t>(layer)] -= kept;
    evictable_as_of_[static_cast<std::size_t>(layer)] = 0;
    evictable_versions_[static_cast<std::size_t>(layer)] = 0;
  };
  if (current_ != nullptr && current_->predicted) {
    kept_ = current_->wanted;
    if (tier >= Tier::computed) kept_ -= current_->computed;
    keep(current_->layer, kept_);
  }
  if (next_ != nullptr && next_->predicted) {
    if (tier == Tier::unwanted) {
      keep(next_->layer, next_->wanted);
    } else {
      next_->to_read_stale = true;
    }
  }
  name_victims(tier, count);
  LEANSTREAM_CHECK(victims_.size() <= static_cast<std::size_t>(count), "{} victims for {} blocks",
                   victims_.size(), count);
  for (std::size_t i = 0; i < victims_.size();) {
    const LayerId l = victims_[i].layer;
    std::size_t end = i + 1;
    while (end < victims_.size() && victims_[end].layer == l) ++end;
    evict(l, std::span(victims_).subspan(i, end - i));
    i = end;
  }
}

// Victims of one layer.
void Scheduler::evict(LayerId layer, std::span<const policy::BlockRef> victims) {
  const auto i = static_cast<std::size_t>(layer);
  for (const auto& [_, b] : victims) {
    LEANSTREAM_CHECK(evictable_[i].test(b), "block {} of layer {} may not be evicted", b, layer);
    evictable_[i].reset(b);
  }
  arena_.evict(layer, victims);
  if (evictable_as_of_[i] != 0) evictable_as_of_[i] = arena_.version(layer);
  for (LayerWork* work : {current_, next_}) {
    if (work == nullptr || work->layer != layer) continue;
    if (work->final) {
      if (work == next_) no_longer_ready(*work, victims);
      continue;
    }
    for (const auto& [_, b] : victims) note_wasted(*work, b);
  }
}

// The set of n+1 may be final while n is computed, and demand of n may take of it what was there.
void Scheduler::no_longer_ready(LayerWork& work, std::span<const policy::BlockRef> victims) {
  lost_.clear();
  for (const auto& [_, b] : victims) lost_.set(b);
  const auto dense = work.ready.begin() + work.dense_blocks;
  work.dense_blocks -= static_cast<BlockId>(
      std::count_if(work.ready.begin(), dense, [&](BlockId b) { return lost_.test(b); }));
  std::erase_if(work.ready, [&](BlockId b) { return lost_.test(b); });
}

// The policy's choice of evictable_; of what it keeps the lowest layers and blocks.
void Scheduler::name_victims(Tier tier, BlockId count) {
  victims_.clear();
  if (tier != Tier::kept) {
    const LayerId layer = current_ != nullptr ? current_->layer : spec_.layers - 1;
    return policies_.cache->victims({evictable_, layer, arena_.all_resident(), evictable_versions_},
                                    count, victims_);
  }
  for (LayerId l = 0; l < spec_.layers; ++l) {
    evictable_as_of_[static_cast<std::size_t>(l)] = 0;  // the policy does not hear of these
    evictable_[static_cast<std::size_t>(l)].for_each([&](BlockId b) {
      if (static_cast<BlockId>(victims_.size()) < count) victims_.push_back({l, b});
    });
  }
}

// Nothing is under way: demand waits for room that the cache policy gives to nobody. It gets it.
void Scheduler::force_room() {
  if (current_ == nullptr || !current_->final) return;
  evict(Tier::kept, quotas_.shared() || prefilling_ ? kNone : current_->layer, 1);
  pump_reads();
}

// A block that was prefetched and goes before its layer's final prediction was read for nothing.
void Scheduler::note_wasted(LayerWork& work, BlockId block) {
  if (!work.prefetched.test(block)) return;
  work.prefetched.reset(block);
  ++tally_.blocks_redundant;
}

// Prefill shared the arena; from now on every layer has its own part of it.
void Scheduler::drop_above_quota() {
  if (quotas_.shared()) return;
  quotas_.fix();
  for (LayerId l = 0; l < spec_.layers; ++l) {
    evict(Tier::unwanted, l, arena_.held(l) - quotas_.of(l));
    evict(Tier::kept, l, arena_.held(l) - quotas_.of(l));
  }
}

void Scheduler::drop_expired(LayerId layer, StepId step) {
  expired_.clear();
  policies_.cache->expired(layer, arena_.resident(layer), step, expired_);
  expired_ &= arena_.resident(layer);
  if (next_ != nullptr && next_->layer == layer && next_->predicted) expired_ -= next_->wanted;
  victims_.clear();
  expired_.for_each([&](BlockId b) { victims_.push_back({layer, b}); });
  arena_.evict(layer, victims_);
}

}  // namespace leanstream::scheduler
