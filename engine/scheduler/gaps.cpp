// Reading across: unwanted blocks between wanted ones that a request brings along. They take slots
// while they are in flight and are dropped on arrival; no cache hears of them.
#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

// Widens order_, whose room is there, by what lies between its blocks, as the loader says and as
// far as there is room or something unwanted to evict.
void Scheduler::read_across(const LayerWork& work) {
  if (across_count_ > 0) across_.clear();
  across_count_ = 0;
  const BlockId widest = work.prefill ? 0 : policies_.loader->widest_gap();
  if (widest == 0) return;
  LEANSTREAM_CHECK(policies_.loader->order() == policy::ReadOrder::flash,
                   "gaps of {} blocks in an order that is not of flash", widest);
  gaps_.assign(static_cast<std::size_t>(widest) + 1, 0);
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const BlockId gap = order_[i] - order_[i - 1] - 1;
    if (gap <= widest) ++gaps_[static_cast<std::size_t>(gap)];
  }
  const auto blocks = static_cast<BlockId>(order_.size());
  const BlockId gap = std::min(widest, policies_.loader->gap_blocks(blocks, gaps_));
  const BlockId merge = merge_blocks(work);
  const BlockId between = widen(gap, merge, std::numeric_limits<BlockId>::max());
  const auto room = [&] { return free_slots(work.layer) - blocks; };
  if (between > room()) {
    evict(Tier::unwanted, quotas_.shared() ? kNone : work.layer, between - room());
  }
  across_count_ = widen(gap, merge, std::min(between, room()));
  for (std::size_t i = 0, w = 0; w < widened_.size(); ++w) {
    if (order_[i] == widened_[w]) {
      ++i;
    } else {
      across_.set(widened_[w]);
    }
  }
  order_.swap(widened_);
}

// Fills widened_ with order_ and what lies in gaps of up to `gap` blocks, at most `most` of it, in
// requests of up to `merge` blocks that begin and end with wanted ones; returns how much that is.
BlockId Scheduler::widen(BlockId gap, BlockId merge, BlockId most) {
  widened_.clear();
  BlockId across = 0, run = 0, last = kNone;
  for (const BlockId b : order_) {
    const BlockId between = b - last - 1;
    const bool joins = run > 0 && between <= gap && run + between < merge;
    if (joins && between <= most - across) {
      for (BlockId i = last + 1; i < b; ++i) widened_.push_back(i);
      across += between;
      run += between + 1;
    } else {
      run = 1;
    }
    widened_.push_back(b);
    last = b;
  }
  return across;
}

// Whether the i-th block of a read only passes: the arena does not know its slot.
bool Scheduler::passes(LayerId layer, const Payload& payload, std::size_t i) const {
  return arena_.slot_of(layer, payload.blocks[i]) != payload.slots[i];
}

// Takes what only passed out of a read that has ended, and notes it in passed_; returns how much of
// it was read.
BlockId Scheduler::drop_passed(const Ticket& ticket, const Completion& completion,
                               Payload& payload) {
  const bool all = completion.status == Status::failed;
  lost_.clear();
  for (const BlockId b : all ? std::span<const BlockId>(payload.blocks) : completion.not_read) {
    lost_.set(b);
  }
  passed_.clear();
  std::size_t kept = 0;
  BlockId read = 0, lost = 0;
  for (std::size_t i = 0; i < payload.blocks.size(); ++i) {
    const BlockId b = payload.blocks[i];
    if (!passes(ticket.layer, payload, i)) {
      payload.blocks[kept] = b;
      payload.slots[kept++] = payload.slots[i];
      continue;
    }
    arena_.free_passed(ticket.layer, payload.slots[i]);
    passed_.set(b);
    ++(lost_.test(b) ? lost : read);
  }
  LEANSTREAM_CHECK(read + lost == ticket.across, "{} blocks passed with ticket {}, not {}",
                   read + lost, ticket.id, ticket.across);
  payload.blocks.resize(kept);
  payload.slots.resize(kept);
  if (completion.status == Status::cancelled) {
    tally_.blocks_read -= lost;
    tally_.blocks_across -= lost;
    tally_.blocks_cancelled += lost;
  } else {
    tally_.read_errors += lost;
  }
  return read;
}

}  // namespace leanstream::scheduler
