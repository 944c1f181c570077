#include "engine/policy/cache/age_classes.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::policy {
namespace {

// Moves members of `from` to `out` until `count` is used up.
void take(LayerId layer, BlockSet from, const BlockSet& evictable, BlockId& count,
          std::vector<BlockRef>& out) {
  from &= evictable;
  from.for_each([&](BlockId b) {
    if (count > 0) out.push_back({layer, b}), --count;
  });
}

}  // namespace

AgeClasses::AgeClasses(LayerId layers, BlockId blocks_per_layer)
    : layers_(static_cast<std::size_t>(layers)),
      never_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)) {
  for (auto& set : never_) set.fill();
}

void AgeClasses::stamp(LayerId layer, const BlockSet& blocks, StepId step) {
  auto& classes = layers_[static_cast<std::size_t>(layer)];
  never_[static_cast<std::size_t>(layer)] -= blocks;
  for (auto& c : classes) c.blocks -= blocks;
  std::erase_if(classes, [](const Class& c) { return c.blocks.empty(); });
  LEANSTREAM_CHECK(classes.empty() || classes.back().step <= step,
                   "layer {}: step {} after step {}", layer, step, classes.back().step);
  if (!classes.empty() && classes.back().step == step) {
    classes.back().blocks |= blocks;
  } else if (!blocks.empty()) {
    classes.push_back({step, blocks});
  }
}

void AgeClasses::oldest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    take(static_cast<LayerId>(l), never_[l], cache.evictable[l], count, out);
  }
  std::vector<std::pair<StepId, LayerId>> order;  // every class, oldest first
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const auto& c : layers_[l]) order.emplace_back(c.step, static_cast<LayerId>(l));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> next(layers_.size(), 0);
  for (const auto& [step, layer] : order) {
    if (count == 0) return;
    const auto l = static_cast<std::size_t>(layer);
    take(layer, layers_[l][next[l]++].blocks, cache.evictable[l], count, out);
  }
}

}  // namespace leanstream::policy
