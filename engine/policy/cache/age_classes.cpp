#include "engine/policy/cache/age_classes.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/base/vector_sets.h"

namespace leanstream::policy {
namespace {

constexpr StepId kNoStep = std::numeric_limits<StepId>::max();

using Word = BlockSet::Word;

// Leaves the `count` lowest members of a set that has more.
void keep_lowest(BlockSet& set, BlockId count) {
  for (Word& word : set.words()) {
    const BlockId here = std::popcount(word);
    if (here <= count) {
      count -= here;
      continue;
    }
    Word others = word;
    for (; count > 0; --count) others &= others - 1;
    word &= ~others;
  }
}

}  // namespace

AgeClasses::AgeClasses(LayerId layers, BlockId blocks_per_layer)
    : classes_(static_cast<std::size_t>(layers)),
      unstamped_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
      fronts_(static_cast<std::size_t>(layers), kNoStep),
      all_stamped_(static_cast<std::size_t>(layers)),
      at_(static_cast<std::size_t>(layers)),
      step_at_(static_cast<std::size_t>(layers)),
      chosen_(blocks_per_layer) {
  for (auto& set : unstamped_) set.fill();
}

void AgeClasses::stamp(LayerId layer, const BlockSet& blocks, StepId step) {
  if (blocks.empty()) return;
  vector_remove(unstamped(layer).words(), blocks.words());
  auto& classes = classes_[static_cast<std::size_t>(layer)];
  bool any_empty = false;
  for (Class& c : classes) {
    if (c.step == step) continue;
    LEANSTREAM_CHECK(c.step < step, "layer {}: step {} after step {}", layer, step, c.step);
    any_empty |= !vector_remove(c.blocks.words(), blocks.words());
  }
  if (any_empty) drop_empty(static_cast<std::size_t>(layer));
  if (!classes.empty() && classes.back().step == step) {
    classes.back().blocks |= blocks;
    return;
  }
  Class fresh{step, {}};
  if (!spare_.empty()) {
    fresh.blocks = std::move(spare_.back());
    spare_.pop_back();
  }
  fresh.blocks = blocks;
  classes.push_back(std::move(fresh));
  fronts_[static_cast<std::size_t>(layer)] = classes.front().step;
}

void AgeClasses::remove(LayerId layer, const BlockSet& blocks) {
  const auto l = static_cast<std::size_t>(layer);
  unstamped_[l] |= blocks;
  all_stamped_[l] = 0;
  bool any_empty = false;
  for (Class& c : classes_[l]) any_empty |= !vector_remove(c.blocks.words(), blocks.words());
  if (any_empty) drop_empty(l);
}

void AgeClasses::remove(const BlockRef& ref) {
  const auto l = static_cast<std::size_t>(ref.layer);
  unstamped_[l].set(ref.block);
  all_stamped_[l] = 0;
  for (Class& c : classes_[l]) {
    if (!c.blocks.test(ref.block)) continue;
    c.blocks.reset(ref.block);
    if (c.blocks.empty()) drop_empty(l);
    return;
  }
}

void AgeClasses::drop_empty(std::size_t layer) {
  std::erase_if(classes_[layer], [&](Class& c) {
    if (!c.blocks.empty()) return false;
    spare_.push_back(std::move(c.blocks));
    return true;
  });
  fronts_[layer] = classes_[layer].empty() ? kNoStep : classes_[layer].front().step;
}

// A walk visits the classes of all layers by age: the layer whose class is next, then walk_on().
void AgeClasses::begin_walk() const {
  std::fill(at_.begin(), at_.end(), 0);
  step_at_ = fronts_;
}

LayerId AgeClasses::oldest_layer() const {
  const auto least = std::min_element(step_at_.begin(), step_at_.end());
  if (*least == kNoStep) return kNone;
  return static_cast<LayerId>(least - step_at_.begin());
}

void AgeClasses::walk_on(LayerId layer) const {
  const auto l = static_cast<std::size_t>(layer);
  const std::size_t next = ++at_[l];
  step_at_[l] = next < classes_[l].size() ? classes_[l][next].step : kNoStep;
}

// What is chosen goes; what went since is as if it had never been stamped. Whether any is left.
bool AgeClasses::drop(Class& c, std::size_t layer, const CacheView& cache) {
  if (cache.resident.empty()) return true;  // nobody says so
  const auto words = c.blocks.words();
  bool any_left = vector_remove(words, chosen_.words());
  unstamped_[layer] |= chosen_;
  const auto there = cache.resident[layer].words();
  if (any_left && vector_without(words, there, there, there, chosen_.words())) {
    any_left = vector_remove(words, chosen_.words());
    unstamped_[layer] |= chosen_;
  }
  return any_left;
}

// Calls take(layer, blocks, number) for what goes; returns how many are still to go.
template <typename Take>
BlockId AgeClasses::take_unstamped(const CacheView& cache, BlockId count, Take&& take) {
  for (std::size_t l = 0; l < unstamped_.size() && count > 0; ++l) {
    const std::uint64_t version = cache.versions.empty() ? 0 : cache.versions[l];
    if (version != 0 && version == all_stamped_[l]) continue;
    const BlockId number =
        vector_common(unstamped_[l].words(), cache.evictable[l].words(), chosen_.words());
    if (number <= count) all_stamped_[l] = version;
    if (number == 0) continue;
    if (number > count) keep_lowest(chosen_, count);
    take(static_cast<LayerId>(l), chosen_, std::min(number, count));
    count -= std::min(number, count);
  }
  return count;
}

template <typename Take>
void AgeClasses::take_oldest(const CacheView& cache, BlockId count, Take&& take) {
  count = take_unstamped(cache, count, take);
  if (count == 0) return;
  begin_walk();
  for (LayerId layer = oldest_layer(); count > 0 && layer != kNone; layer = oldest_layer()) {
    const auto l = static_cast<std::size_t>(layer);
    const BlockSet& blocks = classes_[l][at_[l]].blocks;
    BlockId number = vector_common(blocks.words(), cache.evictable[l].words(), chosen_.words());
    if (number > count) keep_lowest(chosen_, count);
    number = std::min(number, count);
    if (number > 0) take(layer, chosen_, number);
    count -= number;
    const bool any_left = drop(classes_[l][at_[l]], l, cache);
    if (any_left) {
      walk_on(layer);
    } else {
      drop_empty(l);
      step_at_[l] = at_[l] < classes_[l].size() ? classes_[l][at_[l]].step : kNoStep;
    }
  }
}

void AgeClasses::oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) {
  take_oldest(cache, count, [&](LayerId layer, const BlockSet& blocks, BlockId) {
    blocks.for_each([&](BlockId b) { out.push_back({layer, b}); });
  });
}

void AgeClasses::oldest(const CacheView& cache, BlockId count, VictimSets& out) {
  take_oldest(cache, count, [&](LayerId layer, const BlockSet& blocks, BlockId number) {
    out.add(layer, blocks, number);
  });
}

std::optional<BlockRef> AgeClasses::first(std::span<const BlockSet> candidates) const {
  begin_walk();
  for (LayerId layer = oldest_layer(); layer != kNone; layer = oldest_layer()) {
    const auto l = static_cast<std::size_t>(layer);
    const BlockSet& blocks = classes_[l][at_[l]].blocks;
    BlockId found = kNone;
    blocks.for_each_common(candidates.empty() ? blocks : candidates[l], [&](BlockId b) {
      found = b;
      return false;
    });
    if (found != kNone) return BlockRef{layer, found};
    walk_on(layer);
  }
  return std::nullopt;
}

}  // namespace leanstream::policy
