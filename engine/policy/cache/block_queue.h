// What the queue-based caches share: blocks in the order of arrival, and which uses count as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {

class BlockQueue {
 public:
  bool empty() const { return head_ == tail_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tail_ - head_); }

  void push(const BlockRef& ref) {
    make_room(1);
    at(tail_++) = ref;
  }

  // The block that has been there longest; the queue must not be empty.
  BlockRef pop() { return at(head_++); }

  // To the front, in that order.
  void put_back(std::span<const BlockRef> refs) {
    make_room(refs.size());
    head_ -= refs.size();
    for (std::size_t i = 0; i < refs.size(); ++i) at(head_ + i) = refs[i];
  }

 private:
  // A ring: positions run on, and wrap at its size, a power of two.
  BlockRef& at(std::uint64_t position) { return ring_[position & (ring_.size() - 1)]; }
  void make_room(std::size_t count) {
    while (tail_ - head_ + count > ring_.size()) {
      std::vector<BlockRef> larger(2 * ring_.size());
      for (std::uint64_t i = head_; i < tail_; ++i) larger[i & (larger.size() - 1)] = at(i);
      ring_ = std::move(larger);
    }
  }

  std::vector<BlockRef> ring_ = std::vector<BlockRef>(256);
  std::uint64_t head_ = std::uint64_t{1} << 62;  // far from 0: put_back() goes down
  std::uint64_t tail_ = head_;
};

// The first use after an arrival is what the block was read for: later ones are reuses.
class ReuseFilter {
 public:
  ReuseFilter(LayerId layers, BlockId blocks_per_layer)
      : fresh_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
        reused_(blocks_per_layer) {}

  void arrived(LayerId layer, const BlockSet& blocks) {
    fresh_[static_cast<std::size_t>(layer)] |= blocks;
  }
  // Those of `used` that were used before, since they arrived.
  const BlockSet& reused(LayerId layer, const BlockSet& used) {
    BlockSet& fresh = fresh_[static_cast<std::size_t>(layer)];
    reused_ = used;
    reused_ -= fresh;
    fresh -= used;
    return reused_;
  }

 private:
  std::vector<BlockSet> fresh_;  // of each layer: not used since they arrived
  BlockSet reused_;
};

// A mark for each block that was reused since it arrived, until somebody takes it away.
class ReuseMarks {
 public:
  ReuseMarks(LayerId layers, BlockId blocks_per_layer)
      : filter_(layers, blocks_per_layer),
        marks_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)) {}

  void arrived(LayerId layer, const BlockSet& blocks) {
    filter_.arrived(layer, blocks);
    marks_[static_cast<std::size_t>(layer)] -= blocks;
  }
  void used(LayerId layer, const BlockSet& blocks) {
    marks_[static_cast<std::size_t>(layer)] |= filter_.reused(layer, blocks);
  }
  std::span<BlockSet> sets() { return marks_; }

 private:
  ReuseFilter filter_;
  std::vector<BlockSet> marks_;
};

// A value for each block of every layer.
template <typename T>
class BlockTable {
 public:
  BlockTable(LayerId layers, BlockId blocks_per_layer)
      : blocks_(static_cast<std::size_t>(blocks_per_layer)),
        values_(static_cast<std::size_t>(layers) * blocks_) {}

  T& of(const BlockRef& ref) {
    return values_[static_cast<std::size_t>(ref.layer) * blocks_ +
                   static_cast<std::size_t>(ref.block)];
  }

 private:
  std::size_t blocks_;
  std::vector<T> values_;
};

inline bool is_in(std::span<const BlockSet> sets, const BlockRef& ref) {
  return sets[static_cast<std::size_t>(ref.layer)].test(ref.block);
}

// A block in a queue that is not resident went without the queue's doing, where that can be seen.
inline bool has_gone(const CacheView& cache, const BlockRef& ref) {
  return !cache.resident.empty() && !is_in(cache.resident, ref);
}

}  // namespace leanstream::policy
