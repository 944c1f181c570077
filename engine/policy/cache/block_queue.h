// What the queue-based caches share: blocks in the order of arrival, and which uses count as such.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {

class BlockQueue {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::int64_t size() const { return static_cast<std::int64_t>(items_.size() - head_); }

  void push(const BlockRef& ref) { items_.push_back(ref); }
  void push(LayerId layer, const BlockSet& blocks) {
    blocks.for_each([&](BlockId b) { items_.push_back({layer, b}); });
  }

  // The block that has been there longest; the queue must not be empty.
  BlockRef pop() {
    const BlockRef ref = items_[head_++];
    if (head_ >= kSlack && 2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return ref;
  }

  // To the front, in that order.
  void put_back(std::span<const BlockRef> refs) {
    if (refs.size() <= head_) {
      head_ -= refs.size();
      std::copy(refs.begin(), refs.end(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
    } else {
      items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(head_), refs.begin(), refs.end());
    }
  }

 private:
  static constexpr std::size_t kSlack = 4096;  // popped places that are kept before a clean-up
  std::vector<BlockRef> items_;
  std::size_t head_ = 0;
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

// One flag for each block of every layer.
class BlockFlags {
 public:
  BlockFlags(LayerId layers, BlockId blocks_per_layer)
      : sets_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)) {}

  BlockSet& of(LayerId layer) { return sets_[static_cast<std::size_t>(layer)]; }
  bool test(const BlockRef& ref) const { return test_in(sets_, ref); }
  void set(const BlockRef& ref) { of(ref.layer).set(ref.block); }
  void reset(const BlockRef& ref) { of(ref.layer).reset(ref.block); }

  static bool test_in(std::span<const BlockSet> sets, const BlockRef& ref) {
    return sets[static_cast<std::size_t>(ref.layer)].test(ref.block);
  }

 private:
  std::vector<BlockSet> sets_;
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

// A block in a queue that is not resident went without the queue's doing, where that can be seen.
inline bool has_gone(const CacheView& cache, const BlockRef& ref) {
  return !cache.resident.empty() && !BlockFlags::test_in(cache.resident, ref);
}

}  // namespace leanstream::policy
