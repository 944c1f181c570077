// The I/O unit: what is read next, in which parts, and what is evicted for it.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {
namespace {

constexpr std::int32_t kLanes = 1;  // I/O workers that meet at the barrier between two parts

}  // namespace

// Blocks that are predicted and neither there, nor on their way, nor computed already (waves may
// have given up their slots).
void Scheduler::missing(const LayerWork& work, BlockSet& out) const {
  out = work.wanted;
  out -= arena_.resident(work.layer);
  out -= arena_.in_flight(work.layer);
  out -= work.computed;
}

// Demand of n goes first; n+1 follows once nothing of n is unsubmitted.
LayerWork* Scheduler::read_target() {
  using policy::ReadAhead;
  const ReadAhead ahead = policies_.loader->read_ahead();
  if (current_ != nullptr) {
    if (current_->predicted && (current_->final || ahead == ReadAhead::speculative)) {
      missing(*current_, missing_);
      if (!missing_.empty()) return current_;
    }
    if (!current_->final) return nullptr;
  }
  if (next_ == nullptr || !next_->predicted) return nullptr;
  const bool may = next_->prefill || ahead == ReadAhead::speculative ||
                   (ahead == ReadAhead::final_set && next_->final);
  if (!may) return nullptr;
  missing(*next_, missing_);
  return missing_.empty() ? nullptr : next_;
}

void Scheduler::pump_reads() {
  while (reads_in_flight_ < kLanes) {
    LayerWork* work = read_target();
    if (work == nullptr || !submit_part(*work)) return;
  }
}

// Blocks of an I/O part when `missing` blocks are to be read under the current plan. Prefill reads
// ahead in one half of the arena while it computes the other.
BlockId Scheduler::part_of(const LayerWork& work, BlockId missing) const {
  const BlockId part =
      work.prefill ? std::min(missing, arena_.slots() / 2) : divide_up(missing, plan_.omega_io);
  return std::max<BlockId>(1, part);
}

// Submits up to one part of missing_; false when there is no room for a single block.
bool Scheduler::submit_part(LayerWork& work) {
  const BlockId count = missing_.count();
  if (work.part_blocks == 0) work.part_blocks = part_of(work, count);  // of all parts to come
  const BlockId room = make_room(work, std::min(count, work.part_blocks));
  if (room == 0) return false;
  const std::int32_t index = take_payload();
  Payload& payload = payloads_[static_cast<std::size_t>(index)];
  const bool by_priority = policies_.loader->order() == policy::ReadOrder::priority;
  order_blocks(work, missing_, room, by_priority && !work.prefill, payload.blocks);
  for (const BlockId b : payload.blocks) {
    payload.slots.push_back(arena_.reserve(work.layer, b));
    if (!work.final) work.prefetched.set(b);
  }
  Command& read = emit(CommandKind::read, work.step, work.layer, work.token, work.tokens);
  read.merge_blocks = work.prefill
                          ? std::max(policies_.loader->merge_blocks(), spec_.prefill_merge_blocks)
                          : policies_.loader->merge_blocks();
  attach(read, index);
  ++reads_in_flight_;
  bytes_requested_ += static_cast<Bytes>(room) * spec_.geometry.block_bytes;
  tally_.blocks_read += room;
  for_each_request(read, [&](std::size_t, std::size_t n) {
    ++tally_.requests;
    if (n < metrics_.requests_by_blocks.size()) ++metrics_.requests_by_blocks[n];
  });
  metrics_.slots_used_peak =
      std::max(metrics_.slots_used_peak, arena_.slots() - arena_.free_slots());
  return true;
}

// Appends the first `count` candidates to `out`: by falling priority (of equal ones the lower
// block; a counting sort over the priority byte) or in flash order.
void Scheduler::order_blocks(const LayerWork& work, const BlockSet& candidates, BlockId count,
                             bool by_priority, std::vector<BlockId>& out) {
  if (!by_priority) {
    candidates.for_each([&](BlockId b) {
      if (count > 0) out.push_back(b), --count;
    });
    return;
  }
  std::array<BlockId, 257> start{};
  candidates.for_each(
      [&](BlockId b) { ++start[256U - work.priority[static_cast<std::size_t>(b)]]; });
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  order_.resize(static_cast<std::size_t>(start[256]));
  candidates.for_each([&](BlockId b) {
    auto& at = start[255U - work.priority[static_cast<std::size_t>(b)]];
    order_[static_cast<std::size_t>(at++)] = b;
  });
  order_.resize(static_cast<std::size_t>(count));
  out.insert(out.end(), order_.begin(), order_.end());
}

// Frees slots until `count` are free, as far as that is possible; returns how many of `count`
// there are.
BlockId Scheduler::make_room(const LayerWork& work, BlockId count) {
  const auto lacking = [&] { return count - std::min(count, arena_.free_slots()); };
  if (lacking() > 0) evict(Tier::unwanted, lacking());
  if (&work == current_ && work.final) {  // demand may take what a prediction only hopes for
    if (arena_.free_slots() == 0) evict(Tier::next_layer, lacking());
    if (arena_.free_slots() == 0) evict(Tier::computed, lacking());
  }
  return count - lacking();
}

void Scheduler::evict(Tier tier, BlockId count) {
  const auto resident = arena_.all_resident();
  evictable_.assign(resident.begin(), resident.end());
  if (current_ != nullptr && current_->predicted) {
    BlockSet& set = evictable_[static_cast<std::size_t>(current_->layer)];
    const bool waves = tier == Tier::computed;
    BlockSet kept = current_->wanted;
    if (waves) kept -= current_->computed;
    set -= kept;
  }
  if (next_ != nullptr && next_->predicted && tier == Tier::unwanted) {
    evictable_[static_cast<std::size_t>(next_->layer)] -= next_->wanted;
  }
  victims_.clear();
  const LayerId layer = current_ != nullptr ? current_->layer : spec_.layers - 1;
  policies_.cache->victims({evictable_, layer}, count, victims_);
  LEANSTREAM_CHECK(victims_.size() <= static_cast<std::size_t>(count), "{} victims for {} blocks",
                   victims_.size(), count);
  for (const auto& [l, b] : victims_) {
    LEANSTREAM_CHECK(evictable_[static_cast<std::size_t>(l)].test(b),
                     "block {} of layer {} may not be evicted", b, l);
    arena_.evict(l, b);
    note_wasted(l, b);
  }
}

// A block that was prefetched and goes before its layer's final prediction was read for nothing.
void Scheduler::note_wasted(LayerId layer, BlockId block) {
  for (LayerWork* work : {current_, next_}) {
    if (work == nullptr || work->final || work->layer != layer) continue;
    if (!work->prefetched.test(block)) continue;
    work->prefetched.reset(block);
    ++tally_.blocks_redundant;
  }
}

void Scheduler::read_done(const Ticket& ticket, const Completion& completion) {
  Payload& payload = payloads_[static_cast<std::size_t>(ticket.payload)];
  --reads_in_flight_;
  const Bytes bytes = payload.blocks.size() * spec_.geometry.block_bytes;
  if (completion.status != Status::ok) {
    bytes_failed_ += bytes;
    for (const BlockId b : payload.blocks) arena_.cancel(ticket.layer, b);
    payload.in_use = false;
    return;
  }
  bytes_completed_ += bytes;
  for (const BlockId b : payload.blocks) arena_.arrived(ticket.layer, b);
  // A redundant read may end when its step is long over: it arrives now, for whoever wants it now.
  policies_.cache->inserted(ticket.layer, payload.blocks, std::max(opened_step_, ticket.step));
  for (LayerWork* work : {current_, next_}) {
    if (work == nullptr || !work->final || work->layer != ticket.layer) continue;
    for (const BlockId b : payload.blocks) {
      if (work->wanted.test(b) && !work->computed.test(b)) work->ready.push_back(b);
    }
  }
  payload.in_use = false;
}

}  // namespace leanstream::scheduler
