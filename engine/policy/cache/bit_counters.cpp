#include "engine/policy/cache/bit_counters.h"

namespace leanstream::policy {
namespace {

void append(const std::vector<BlockSet>& sets, LayerId current, BlockId& count,
            std::vector<BlockRef>& out) {
  const auto layers = static_cast<LayerId>(sets.size());
  for (LayerId i = 1; i <= layers && count > 0; ++i) {  // from the layer computed longest ago
    const LayerId layer = (current + i) % layers;
    sets[static_cast<std::size_t>(layer)].for_each([&](BlockId b) {
      if (count > 0) out.push_back({layer, b}), --count;
    });
  }
}

}  // namespace

BitCounters::BitCounters(LayerId layers, BlockId blocks_per_layer)
    : planes_(kPlanes, Sets(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer))) {}

void BitCounters::increment(LayerId layer, const BlockSet& blocks) {
  const auto l = static_cast<std::size_t>(layer);
  BlockSet carry = blocks;
  for (auto& plane : planes_) {
    BlockSet both = plane[l];
    both &= carry;
    plane[l] |= carry;
    plane[l] -= both;
    carry = std::move(both);
    if (carry.empty()) return;
  }
  for (auto& plane : planes_) plane[l] |= carry;  // saturated: back to all ones
}

std::uint32_t BitCounters::count(LayerId layer, BlockId block) const {
  std::uint32_t n = 0;
  for (int p = 0; p < kPlanes; ++p) {
    n |= static_cast<std::uint32_t>(
             planes_[static_cast<std::size_t>(p)][static_cast<std::size_t>(layer)].test(block))
         << p;
  }
  return n;
}

void BitCounters::lowest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const {
  Sets candidates(cache.evictable.begin(), cache.evictable.end());
  Sets low(candidates.size());
  for (int p = kPlanes - 1; p >= 0 && count > 0; --p) {
    const auto& plane = planes_[static_cast<std::size_t>(p)];
    BlockId n = 0;
    for (std::size_t l = 0; l < candidates.size(); ++l) {
      low[l] = candidates[l];
      low[l] -= plane[l];
      n += low[l].count();
    }
    if (n > count) {
      candidates.swap(low);
      continue;
    }
    append(low, cache.current_layer, count, out);  // all without this bit go; the rest compete on
    for (std::size_t l = 0; l < candidates.size(); ++l) candidates[l] &= plane[l];
  }
  append(candidates, cache.current_layer, count, out);
}

}  // namespace leanstream::policy
