// Blocks in the order of arrival as runs: sets of one layer's blocks that came together, of which
// the lower comes first. What goes, stays and returns is decided a word of blocks at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/lowest_bits.h"

namespace leanstream::policy {

class RunQueue {
 public:
  struct Run {
    LayerId layer = 0;
    BlockSet blocks;
  };

  explicit RunQueue(BlockId blocks_per_layer) : blocks_per_layer_(blocks_per_layer) {}

  bool empty() const { return head_ == tail_; }
  std::int64_t size() const { return size_; }  // in blocks

  void push(LayerId layer, const BlockSet& blocks) {
    const BlockId count = blocks.count();
    if (count == 0) return;
    make_room();
    set(at(tail_++), layer, blocks);
    size_ += count;
  }
  void push_front(LayerId layer, const BlockSet& blocks) {
    const BlockId count = blocks.count();
    if (count == 0) return;
    make_room();
    set(at(--head_), layer, blocks);
    size_ += count;
  }
  // The oldest; the queue must not be empty. Whoever takes `count` of its blocks says so.
  Run& front() { return at(head_); }
  void took(std::int64_t count) { size_ -= count; }
  void pop() { ++head_; }
  void join_front(const BlockSet& blocks) {
    front().blocks |= blocks;
    size_ += blocks.count();
  }

 private:
  static void set(Run& run, LayerId layer, const BlockSet& blocks) {
    run.layer = layer;
    run.blocks = blocks;
  }
  // A ring: positions run on, and wrap at its size, a power of two.
  Run& at(std::uint64_t position) { return ring_[position & (ring_.size() - 1)]; }
  void make_room() {
    if (!ring_.empty() && tail_ - head_ < ring_.size()) return;
    std::vector<Run> larger(std::max<std::size_t>(64, 2 * ring_.size()),
                            Run{0, BlockSet(blocks_per_layer_)});
    for (std::uint64_t i = head_; i < tail_; ++i) {
      std::swap(larger[i & (larger.size() - 1)], at(i));
    }
    ring_ = std::move(larger);
  }

  BlockId blocks_per_layer_;
  std::vector<Run> ring_;
  std::uint64_t head_ = std::uint64_t{1} << 62;  // far from 0: push_front() goes down
  std::uint64_t tail_ = head_;
  std::int64_t size_ = 0;
};

// Goes along the queue from its front until `count` blocks were taken or `most` looked at. What may
// go and has no mark goes; the other sets are given to `keep` run by run: what has lost its mark
// now, and what may not go. A block that is not resident went without the queue's doing, where that
// can be seen, and is forgotten.
class RunWalk {
 public:
  explicit RunWalk(BlockId blocks_per_layer)
      : gone_(blocks_per_layer), unmarked_(blocks_per_layer), held_(blocks_per_layer) {}

  // marks: one set a layer, or nothing. keep(layer, unmarked, held, whole): `whole` when nothing of
  // the run is left in the queue.
  template <typename Keep>
  void go(RunQueue& queue, const CacheView& cache, std::span<BlockSet> marks, std::int64_t most,
          BlockId& count, VictimSets& out, Keep&& keep) {
    while (most > 0 && count > 0 && !queue.empty()) {
      RunQueue::Run& run = queue.front();
      const BlockId before = count;
      const std::int64_t looked = split(run, cache, marks, most, count);
      most -= looked;
      queue.took(looked);
      const LayerId layer = run.layer;
      if (before != count) out.add(layer, gone_, before - count);
      const bool whole = run.blocks.empty();
      if (whole) queue.pop();
      keep(layer, unmarked_, held_, whole);
    }
  }

 private:
  // Takes blocks out of the run; returns how many.
  std::int64_t split(RunQueue::Run& run, const CacheView& cache, std::span<BlockSet> marks,
                     std::int64_t most, BlockId& count) {
    const auto l = static_cast<std::size_t>(run.layer);
    const auto evictable = cache.evictable[l].words();
    const auto resident =
        cache.resident.empty() ? std::span<const BlockSet::Word>{} : cache.resident[l].words();
    const auto marked = marks.empty() ? std::span<BlockSet::Word>{} : marks[l].words();
    const auto blocks = run.blocks.words();
    std::int64_t looked = 0;
    for (std::size_t w = 0; w < blocks.size(); ++w) {
      BlockSet::Word part = looked < most && count > 0 ? lowest_bits(blocks[w], most - looked) : 0;
      const BlockSet::Word mark = marked.empty() ? 0 : marked[w];
      BlockSet::Word goes = part & evictable[w] & ~mark;
      if (std::popcount(goes) >= count && count > 0) {  // the walk ends behind the last
        goes = lowest_bits(goes, count);
        part &= ~BlockSet::Word{0} >> std::countl_zero(goes);
      }
      const BlockSet::Word again = part & evictable[w] & mark;
      if (again != 0) marked[w] &= ~again;
      count -= std::popcount(goes);
      looked += std::popcount(part);
      gone_.words()[w] = goes;
      unmarked_.words()[w] = again;
      held_.words()[w] = part & ~evictable[w] & (resident.empty() ? part : resident[w]);
      blocks[w] &= ~part;
    }
    return looked;
  }

  BlockSet gone_, unmarked_, held_;  // of the run in hand
};

// Runs that a walk along a queue keeps back, to be put in front again in their order.
class KeptRuns {
 public:
  explicit KeptRuns(BlockId blocks_per_layer) : queue_(blocks_per_layer) {}
  // Of a run that is not whole the rest is in front of the queue: it is one run again.
  void keep(RunQueue& from, LayerId layer, const BlockSet& blocks, bool whole) {
    whole ? queue_.push_front(layer, blocks) : from.join_front(blocks);
  }
  void put_back(RunQueue& to) {
    for (; !queue_.empty(); queue_.pop())
      to.push_front(queue_.front().layer, queue_.front().blocks);
  }

 private:
  RunQueue queue_;  // the last one kept first
};

// The victims of a policy that names them as sets, as a list.
inline void list_victims(const CachePolicy& policy, const CacheView& cache, BlockId count,
                         VictimSets& sets, std::vector<BlockRef>& out) {
  sets.clear();
  policy.victim_sets(cache, count, sets);
  for (const auto& [layer, blocks] : sets.chunks()) {
    blocks.for_each([&, l = layer](BlockId b) { out.push_back({l, b}); });
  }
}

}  // namespace leanstream::policy
