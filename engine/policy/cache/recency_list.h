// Blocks of all layers from the one touched longest ago to the newest: the lists that ARC and
// W-TinyLFU are made of.
#pragma once

#include <optional>

#include "engine/policy/cache/age_classes.h"

namespace leanstream::policy {

class RecencyList {
 public:
  RecencyList(LayerId layers, BlockId blocks_per_layer)
      : ages_(layers, blocks_per_layer),
        members_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
        one_(blocks_per_layer) {}

  std::int64_t size() const { return size_; }
  bool holds(const BlockRef& ref) const { return of(ref.layer).test(ref.block); }
  const BlockSet& of(LayerId layer) const { return members_[static_cast<std::size_t>(layer)]; }

  // To the newest end, from wherever they are. `now` never falls; of one time and layer the higher
  // block is the newer one.
  void touch(LayerId layer, const BlockSet& blocks, StepId now) {
    BlockSet& members = members_[static_cast<std::size_t>(layer)];
    size_ += blocks.count() - blocks.count_common(members);
    members |= blocks;
    ages_.stamp(layer, blocks, now);
  }
  void touch(const BlockRef& ref, StepId now) {
    one_.set(ref.block);
    touch(ref.layer, one_, now);
    one_.reset(ref.block);
  }

  void remove(LayerId layer, const BlockSet& blocks) {
    BlockSet& members = members_[static_cast<std::size_t>(layer)];
    const BlockId common = blocks.count_common(members);
    if (common == 0) return;
    size_ -= common;
    members -= blocks;
    ages_.remove(layer, blocks);
  }
  void remove(const BlockRef& ref) {
    if (!holds(ref)) return;
    --size_;
    members_[static_cast<std::size_t>(ref.layer)].reset(ref.block);
    ages_.remove(ref);
  }

  // The oldest, or the oldest among `candidates` (one set a layer).
  std::optional<BlockRef> oldest(std::span<const BlockSet> candidates = {}) const {
    return ages_.first(candidates);
  }

 private:
  AgeClasses ages_;
  std::vector<BlockSet> members_;
  std::int64_t size_ = 0;
  BlockSet one_;  // scratch
};

// Time as the hooks of a policy tell it: it goes on whenever they speak of another step.
class HookClock {
 public:
  StepId at(StepId step) {
    if (step != step_) ++now_;
    step_ = step;
    return now_;
  }
  StepId now() const { return now_; }

 private:
  StepId step_ = -1;
  StepId now_ = 0;
};

}  // namespace leanstream::policy
