#include "engine/policy/cache/age_classes.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::policy {
namespace {

// Appends members of `from` that are evictable until `count` is used up.
void take(LayerId layer, const BlockSet& from, const BlockSet& evictable, BlockId& count,
          std::vector<BlockRef>& out) {
  from.for_each_common(evictable, [&](BlockId b) {
    out.push_back({layer, b});
    return --count > 0;
  });
}

}  // namespace

AgeClasses::AgeClasses(LayerId layers, BlockId blocks_per_layer)
    : unstamped_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
      touched_(blocks_per_layer) {
  for (auto& set : unstamped_) set.fill();
}

void AgeClasses::stamp(LayerId layer, std::span<const BlockId> blocks, StepId step) {
  touched_.clear();
  for (const BlockId b : blocks) touched_.set(b);
  stamp(layer, touched_, step);
}

void AgeClasses::stamp(LayerId layer, const BlockSet& blocks, StepId step) {
  if (blocks.empty()) return;
  unstamped(layer) -= blocks;
  Class* same = nullptr;
  bool any_empty = false;
  for (Class& c : classes_) {
    if (c.layer != layer) continue;
    LEANSTREAM_CHECK(c.step <= step, "layer {}: step {} after step {}", layer, step, c.step);
    if (c.step == step) {
      same = &c;
    } else {
      c.blocks -= blocks;
      any_empty = any_empty || c.blocks.empty();
    }
  }
  if (same != nullptr) {
    same->blocks |= blocks;
  } else {
    auto at = classes_.end();
    while (at != classes_.begin() && (at - 1)->step > step) --at;
    Class fresh{step, layer, {}};
    if (!spare_.empty()) {
      fresh.blocks = std::move(spare_.back());
      spare_.pop_back();
    }
    fresh.blocks = blocks;
    classes_.insert(at, std::move(fresh));
  }
  if (any_empty) drop_empty();
}

void AgeClasses::drop_empty() {
  std::erase_if(classes_, [&](Class& c) {
    if (!c.blocks.empty()) return false;
    spare_.push_back(std::move(c.blocks));
    return true;
  });
}

void AgeClasses::oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) {
  for (std::size_t l = 0; l < unstamped_.size() && count > 0; ++l) {
    take(static_cast<LayerId>(l), unstamped_[l], cache.evictable[l], count, out);
  }
  bool any_empty = false;
  for (Class& c : classes_) {
    if (count == 0) break;
    const auto l = static_cast<std::size_t>(c.layer);
    if (!cache.resident.empty()) {  // what went since is as if it had never been stamped
      touched_ = c.blocks;
      touched_ -= cache.resident[l];
      unstamped_[l] |= touched_;
      c.blocks -= touched_;
      any_empty = any_empty || c.blocks.empty();
    }
    take(c.layer, c.blocks, cache.evictable[l], count, out);
  }
  if (any_empty) drop_empty();
}

}  // namespace leanstream::policy
