#include "engine/policy/cache/bit_counters.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/base/vector_scan.h"
#include "engine/base/vector_sets.h"
#include "engine/policy/cache/lowest_bits.h"

namespace leanstream::policy {
namespace {

constexpr std::size_t kSlack = 1;  // victims that may be written beyond the room

}  // namespace

BitCounters::BitCounters(LayerId layers, BlockId blocks_per_layer)
    : carry_(blocks_per_layer), both_(blocks_per_layer), below_(blocks_per_layer) {
  Layer layer;
  layer.planes.assign(kPlanes, BlockSet(blocks_per_layer));
  layer.left = layer.lowest = BlockSet(blocks_per_layer);
  layer.filled = BlockSet(static_cast<BlockId>(layer.lowest.words().size()));
  layers_.assign(static_cast<std::size_t>(layers), layer);
  lowest_counts_.resize(layers_.size());
}

void BitCounters::increment(LayerId id, const BlockSet& blocks) {
  Layer& layer = layers_[static_cast<std::size_t>(id)];
  layer.known = false;
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

void BitCounters::reset(LayerId id, const BlockSet& blocks) {
  Layer& layer = layers_[static_cast<std::size_t>(id)];
  layer.known = false;
  for (int p = 0; p < layer.used_planes; ++p) layer.planes[static_cast<std::size_t>(p)] -= blocks;
}

void BitCounters::halve() {
  for (Layer& layer : layers_) {
    layer.known = false;
    layer.planes.front().clear();
    std::rotate(layer.planes.begin(), layer.planes.begin() + 1, layer.planes.end());
    layer.used_planes = std::max(0, layer.used_planes - 1);
  }
}

void BitCounters::assign(LayerId id, std::span<const std::uint16_t> counts) {
  Layer& layer = layers_[static_cast<std::size_t>(id)];
  layer.known = false;
  layer.used_planes = kPlanes;
  for (std::size_t w = 0; w < carry_.words().size(); ++w) {
    std::array<BlockSet::Word, kPlanes> columns{};
    const auto rest = counts.subspan(w * BlockSet::kWordBits);
    for (std::size_t i = 0; i < std::min<std::size_t>(rest.size(), BlockSet::kWordBits); ++i) {
      for (std::size_t p = 0; p < kPlanes; ++p) {
        columns[p] |= BlockSet::Word{(rest[i] >> p) & 1U} << i;
      }
    }
    for (std::size_t p = 0; p < kPlanes; ++p) layer.planes[p].words()[w] = columns[p];
  }
}

void BitCounters::find_lowest(std::size_t l, std::uint32_t guess) {
  Layer& layer = layers_[l];
  layer.known = true;
  if (layer.left.empty()) {
    layer.filled.clear();
    lowest_counts_[l] = kNothing;
    return;
  }
  const auto planes = std::span(layer.planes).first(static_cast<std::size_t>(layer.used_planes));
  lowest_counts_[l] = guess;
  if (guess == kNothing ||
      !vector_numbered(layer.left.words(), planes, guess, layer.lowest.words())) {
    lowest_counts_[l] =
        vector_lowest(layer.left.words(), planes, layer.lowest.words(), both_.words());
  }
  vector_filled(layer.lowest.words(), layer.filled.words());
}

// What is evictable is most often what was left by the call before: only the layers that had
// arrivals, or are protected now, are looked through again.
void BitCounters::look_at(const CacheView& cache, std::size_t l) {
  Layer& layer = layers_[l];
  const std::uint64_t version = cache.versions.empty() ? 0 : cache.versions[l];
  if (layer.known && version != 0 && version == layer.version) return;
  layer.version = version;
  if (layer.known && cache.evictable[l] == layer.left) return;
  layer.left = cache.evictable[l];
  find_lowest(l, kNothing);
}

void BitCounters::lowest(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) {
  const std::size_t layers = layers_.size();
  for (std::size_t l = 0; l < layers; ++l) look_at(cache, l);
  const std::size_t before = out.size();
  out.resize(before + static_cast<std::size_t>(count) + kSlack);
  std::span<BlockRef> room = std::span(out).subspan(before, static_cast<std::size_t>(count));
  while (!room.empty()) {
    const auto [first, least, second] = lowest_two();
    if (least == kNothing) break;
    if (least < second) {  // one layer has the lowest counts of all
      const auto left = take_below(first, second, room);
      if (left.size() < room.size()) {
        room = left;
        continue;
      }
    }
    auto l = static_cast<std::size_t>(cache.current_layer);
    for (std::size_t i = 0; i < layers && !room.empty();
         ++i) {  // first the one computed longest ago
      if (++l == layers) l = 0;
      if (lowest_counts_[l] == least) room = take(static_cast<LayerId>(l), room);
    }
  }
  out.resize(out.size() - kSlack - room.size());
}

BitCounters::LowestTwo BitCounters::lowest_two() const {
  LowestTwo two{0, kNothing, kNothing};
  for (std::size_t l = 0; l < lowest_counts_.size(); ++l) {
    const std::uint32_t count = lowest_counts_[l];
    if (count < two.least) {
      two = {static_cast<LayerId>(l), count, two.least};
    } else {
      two.other = std::min(two.other, count);
    }
  }
  return two;
}

// Takes all of a layer that have a count below `limit`, which no other layer has; where there is
// not room for them, those below the highest limit for which there is. Returns the room that is
// left.
std::span<BlockRef> BitCounters::take_below(LayerId id, std::uint32_t limit,
                                            std::span<BlockRef> room) {
  const auto l = static_cast<std::size_t>(id);
  Layer& layer = layers_[l];
  const auto planes = std::span(layer.planes).first(static_cast<std::size_t>(layer.used_planes));
  const auto find = [&](std::uint32_t below) {
    return vector_below(layer.left.words(), planes, below, below_.words());
  };
  const auto most = static_cast<std::int32_t>(room.size());
  limit = std::min(limit, std::uint32_t{1} << layer.used_planes);
  std::int32_t count = limit >> layer.used_planes != 0 ? most + 1 : find(limit);
  if (count > most) {
    std::uint32_t fits = lowest_counts_[l];
    while (limit - fits > 1) {
      const std::uint32_t middle = fits + (limit - fits) / 2;
      (find(middle) <= most ? fits : limit) = middle;
    }
    count = find(fits);
  }
  if (count == 0) return room;
  BlockRef* at = room.data();
  below_.for_each([&](BlockId b) { *at++ = {id, b}; });
  vector_remove(layer.left.words(), below_.words());
  find_lowest(l, kNothing);
  return room.subspan(static_cast<std::size_t>(count));
}

// Of a layer's `lowest`, as a rule a few blocks in a few words, as many as there is room for.
// Returns the room that is left.
std::span<BlockRef> BitCounters::take(LayerId id, std::span<BlockRef> room) {
  Layer& layer = layers_[static_cast<std::size_t>(id)];
  const auto lowest = layer.lowest.words();
  const auto left = layer.left.words();
  BlockRef* at = room.data();
  const BlockRef* const end = at + room.size();
  layer.filled.for_each_while([&](BlockId i) {
    const auto index = static_cast<std::size_t>(i);
    const BlockSet::Word word = lowest[index];
    const BlockSet::Word taken = lowest_bits(word, end - at);
    BlockRef* next = at;
    for (BlockSet::Word bits = taken; bits != 0;) {  // without a branch for each: kSlack
      for (int n = 0; n < 2; ++n, bits &= bits - 1) {
        *next++ = {id, i * BlockSet::kWordBits + static_cast<BlockId>(std::countr_zero(bits))};
      }
    }
    at += std::popcount(taken);
    left[index] &= ~taken;
    lowest[index] = word & ~taken;
    if (word == taken) layer.filled.reset(i);
    return at != end;
  });
  // What is left has a higher count, most often the next.
  const auto l = static_cast<std::size_t>(id);
  if (layer.filled.empty()) find_lowest(l, lowest_counts_[l] + 1);
  return room.subspan(static_cast<std::size_t>(at - room.data()));
}

}  // namespace leanstream::policy
