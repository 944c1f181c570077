#include "engine/policy/cache/bit_counters.h"

#include <algorithm>

#include "engine/base/vector_scan.h"

namespace leanstream::policy {

BitCounters::BitCounters(LayerId layers, BlockId blocks_per_layer)
    : carry_(blocks_per_layer), both_(blocks_per_layer) {
  Layer layer;
  layer.planes.assign(kPlanes, BlockSet(blocks_per_layer));
  layer.left = layer.lowest = BlockSet(blocks_per_layer);
  layers_.assign(static_cast<std::size_t>(layers), layer);
  lowest_counts_.resize(layers_.size());
}

void BitCounters::increment(LayerId id, const BlockSet& blocks) {
  Layer& layer = layers_[static_cast<std::size_t>(id)];
  layer.version = 0;
  carry_ = blocks;
  for (int p = 0; p < kPlanes; ++p) {
    if (carry_.empty()) return;
    BlockSet& plane = layer.planes[static_cast<std::size_t>(p)];
    both_ = plane;
    both_ &= carry_;
    plane |= carry_;
    plane -= both_;
    std::swap(carry_, both_);
    layer.used_planes = std::max(layer.used_planes, p + 1);
  }
  for (auto& plane : layer.planes) plane |= carry_;  // saturated: back to all ones
}

std::uint32_t BitCounters::count(LayerId layer, BlockId block) const {
  std::uint32_t n = 0;
  for (int p = 0; p < kPlanes; ++p) {
    const auto& plane =
        layers_[static_cast<std::size_t>(layer)].planes[static_cast<std::size_t>(p)];
    n |= static_cast<std::uint32_t>(plane.test(block)) << p;
  }
  return n;
}

void BitCounters::find_lowest(std::size_t l) {
  Layer& layer = layers_[l];
  layer.lowest = layer.left;
  lowest_counts_[l] = layer.left.empty() ? kNothing : 0;
  if (lowest_counts_[l] == kNothing) return;
  for (int p = layer.used_planes; p-- > 0;) {
    const BlockSet& plane = layer.planes[static_cast<std::size_t>(p)];
    if (vector_difference(layer.lowest.words(), plane.words(), both_.words())) {
      std::swap(layer.lowest, both_);
    } else {
      lowest_counts_[l] |= 1U << p;  // all that are left have this bit
    }
  }
}

void BitCounters::lowest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) {
  const std::size_t layers = layers_.size();
  for (std::size_t l = 0; l < layers; ++l) {
    const std::uint64_t version = cache.versions.empty() ? 0 : cache.versions[l];
    if (version != 0 && version == layers_[l].version) continue;
    layers_[l].left = cache.evictable[l];
    find_lowest(l);
    layers_[l].version = version;
  }
  while (count > 0) {
    const std::uint32_t least = *std::min_element(lowest_counts_.begin(), lowest_counts_.end());
    if (least == kNothing) return;
    for (std::size_t i = 1; i <= layers && count > 0; ++i) {  // from the one computed longest ago
      const std::size_t l = (static_cast<std::size_t>(cache.current_layer) + i) % layers;
      if (lowest_counts_[l] != least) continue;
      Layer& layer = layers_[l];
      const std::size_t before = out.size();
      const BlockId size = std::min(count, layer.lowest.count());
      out.resize(before + static_cast<std::size_t>(size));
      auto at = out.begin() + static_cast<std::ptrdiff_t>(before);
      layer.lowest.for_each_while([&](BlockId b) {
        if (at == out.end()) return false;
        *at++ = {static_cast<LayerId>(l), b};
        return true;
      });
      count -= size;
      layer.version = 0;
      if (count == 0) return;
      vector_difference(layer.left.words(), layer.lowest.words(), layer.left.words());
      find_lowest(l);
    }
  }
}

}  // namespace leanstream::policy
