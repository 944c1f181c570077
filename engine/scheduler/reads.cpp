// The I/O unit: what is read next, and in which parts.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/vector_sets.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

// Blocks that are predicted and neither there, nor on their way, nor computed already (waves may
// have given up their slots); whether there are any.
bool Scheduler::missing(const LayerWork& work, BlockSet& out) const {
  return vector_without(work.wanted.words(), arena_.resident(work.layer).words(),
                        arena_.in_flight(work.layer).words(), work.computed.words(), out.words());
}

// Demand of n goes first; n+1 follows once nothing of n is unsubmitted.
LayerWork* Scheduler::read_target() {
  using policy::ReadAhead;
  if (current_ != nullptr) {
    if (current_->predicted && (current_->final || ahead_ == ReadAhead::speculative)) {
      if (missing(*current_, missing_)) return current_;
    }
    if (!current_->final) return nullptr;
  }
  if (next_ == nullptr || !next_->predicted) return nullptr;
  const bool may = next_->prefill || ahead_ == ReadAhead::speculative ||
                   (ahead_ == ReadAhead::final_set && next_->final);
  if (!may) return nullptr;
  return missing(*next_, missing_) ? next_ : nullptr;
}

// Prefill reads alike in every system: in large parts with a barrier between them.
bool Scheduler::free_running(const LayerWork& work) const {
  return spec_.io_segment_sync == IoSegmentSync::none && !work.prefill;
}

bool Scheduler::may_submit(const LayerWork& work) const {
  if (!free_running(work)) return reads_in_flight_ == 0;
  return requests_in_flight_ < std::int64_t{spec_.queue_depth} * spec_.io_lanes;
}

void Scheduler::pump_reads() {
  for (;;) {
    // A barrier's part is closed as soon as it is submitted.
    if (spec_.io_segment_sync == IoSegmentSync::barrier && reads_in_flight_ > 0) return;
    LayerWork* work = read_target();
    if (work == nullptr) break;
    if (!may_submit(*work)) return;
    if (!submit_reads(*work)) break;
  }
  close_part();  // nothing can join it now
}

// Blocks of the next I/O part. Prefill reads ahead in one half of the arena while it computes the
// other.
BlockId Scheduler::part_blocks(const LayerWork& work) const {
  if (work.prefill) return std::max<BlockId>(1, std::min(work.read_target, arena_.slots() / 2));
  const policy::Plan& plan = work.final ? work.plan : plan_;
  const PlanPiece piece(work.read_target, work.submitted, plan.stages);
  return piece.cut(plan.stage[piece.stage].omega_io);
}

// The part that takes the next reads of `work`.
Scheduler::Part& Scheduler::part_for(LayerWork& work) {
  if (open_part_ != kNone && parts_[static_cast<std::size_t>(open_part_)].step != work.step) {
    close_part();
  }
  if (open_part_ == kNone) {
    if (free_parts_.empty()) {
      free_parts_.push_back(static_cast<std::int32_t>(parts_.size()));
      parts_.emplace_back();
    }
    open_part_ = free_parts_.back();
    free_parts_.pop_back();
    if (work.read_target == 0) work.read_target = missing_.count();
    Part& part = parts_[static_cast<std::size_t>(open_part_)];
    part.step = work.step;
    part.layer = work.layer;
    part.left = part_blocks(work);
  }
  return parts_[static_cast<std::size_t>(open_part_)];
}

// Submits up to one part of missing_; false when there is no room for a single block, or no time.
bool Scheduler::submit_reads(LayerWork& work) {
  Part& part = part_for(work);
  const bool by_request = free_running(work) || (spec_.publish == Publish::block && !work.prefill);
  const std::int64_t most_requests =
      free_running(work) ? std::int64_t{spec_.queue_depth} * spec_.io_lanes - requests_in_flight_
                         : std::numeric_limits<std::int64_t>::max();
  const BlockId count = make_room(work, fitting(work, std::min(missing_.count(), part.left)));
  if (count == 0) return false;
  next_to_read(work, count, most_requests);
  const auto blocks = static_cast<BlockId>(order_.size());
  part.left -= blocks;
  work.submitted += blocks;
  read_across(work);
  const std::int32_t lanes = work.prefill ? 1 : spec_.io_lanes;
  if (by_request) {
    for_each_run(order_, merge_blocks(work), [&](std::size_t i, std::size_t n) {
      submit_read(work, std::span(order_).subspan(i, n), next_lane_);
      next_lane_ = (next_lane_ + 1) % lanes;
    });
  } else if (lanes == 1) {
    submit_read(work, order_, 0);
  } else {
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      dealt_.clear();
      std::int32_t turn = 0;
      for_each_run(order_, merge_blocks(work), [&](std::size_t i, std::size_t n) {
        if (turn++ % lanes != lane) return;
        dealt_.insert(dealt_.end(), order_.begin() + static_cast<std::ptrdiff_t>(i),
                      order_.begin() + static_cast<std::ptrdiff_t>(i + n));
      });
      if (!dealt_.empty()) submit_read(work, dealt_, lane);
    }
  }
  if (part.left == 0 || !free_running(work)) close_part();
  metrics_.slots_used_peak =
      std::max(metrics_.slots_used_peak, arena_.slots() - arena_.free_slots());
  return true;
}

BlockId Scheduler::merge_blocks(const LayerWork& work) const {
  const BlockId merge = policies_.loader->merge_blocks();
  return work.prefill ? std::max(merge, spec_.prefill_merge_blocks) : merge;
}

void Scheduler::submit_read(LayerWork& work, std::span<const BlockId> blocks, std::int32_t lane) {
  const std::int32_t index = take_payload();
  Payload& payload = payloads_[static_cast<std::size_t>(index)];
  payload.blocks.assign(blocks.begin(), blocks.end());
  payload.slots.resize(blocks.size());
  const BlockId across = across_count_ > 0
                             ? static_cast<BlockId>(std::ranges::count_if(
                                   blocks, [&](BlockId b) { return across_.test(b); }))
                             : 0;
  if (across > 0) {
    arena_.reserve(work.layer, blocks, across_, payload.slots);
  } else {
    arena_.reserve(work.layer, blocks, payload.slots);
  }
  if (!work.final) {
    for (const BlockId b : blocks) work.prefetched.set_if(b, across == 0 || !across_.test(b));
  }
  Command& read = emit(CommandKind::read, work.step, work.layer, work.token, work.tokens);
  read.lane = lane;
  read.merge_blocks = merge_blocks(work);
  attach(read, index);
  std::int32_t requests = 0;
  for_each_request(read, [&](std::size_t, std::size_t n) {
    ++requests;
    if (n < metrics_.requests_by_blocks.size()) ++metrics_.requests_by_blocks[n];
  });
  Ticket& ticket = ticket_of(read);
  ticket.part = open_part_;
  ticket.requests = requests;
  ticket.across = across;
  ++parts_[static_cast<std::size_t>(open_part_)].outstanding;
  reads_.push_back(read.ticket);
  const auto count = static_cast<BlockId>(blocks.size());
  ++reads_in_flight_;
  requests_in_flight_ += requests;
  blocks_in_flight_ += count;
  bytes_requested_ += static_cast<Bytes>(count) * spec_.geometry.block_bytes;
  tally_.blocks_read += count;
  tally_.blocks_across += across;
  tally_.requests += requests;
}

// Of `count` blocks to be prefetched, those that can be there in the expected rest of the
// accelerator's work (`prefetch_limit: fits`).
BlockId Scheduler::fitting(const LayerWork& work, BlockId count) const {
  if (spec_.prefetch_limit == PrefetchLimit::plan || work.final || !pace_.known()) return count;
  const TimeNs block_ns = std::max<TimeNs>(1, pace_.read_block_ns.value());
  const TimeNs left_ns = expected_rest_ns() - blocks_in_flight_ * block_ns;
  return static_cast<BlockId>(std::clamp<TimeNs>(left_ns / block_ns, 0, count));
}

TimeNs Scheduler::expected_rest_ns() const {
  const auto running_ns = [&](const MovingAverage& whole) {
    return std::max<TimeNs>(0, whole.value() - (now_ - pace_.last_start_ns));
  };
  if (current_ == nullptr) return running_ns(pace_.head_ns);
  TimeNs rest = current_->attention_done ? 0 : running_ns(pace_.attention_ns);
  if (current_->final) {
    rest += (current_->wanted_blocks - current_->computed.count()) * pace_.compute_block_ns.value();
    if (current_->layer + 1 == spec_.layers) rest += pace_.head_ns.value();  // before layer 0
  }
  return rest;
}

// Fills order_ with the next blocks of missing_ to be read: at most `count`, in at most so many
// requests.
void Scheduler::next_to_read(LayerWork& work, BlockId count, std::int64_t most_requests) {
  if (work.to_read_stale) {
    work.to_read.clear();
    work.to_read_at = 0;
    work.to_read_stale = false;
    const bool by_priority = policies_.loader->order() == policy::ReadOrder::priority;
    order_blocks(work, missing_, by_priority && !work.prefill, work.to_read);
  }
  const BlockId merge = merge_blocks(work);
  if (merge == 1) return next_single(work, std::min<std::int64_t>(count, most_requests));
  order_.clear();
  std::int64_t requests = 0;
  BlockId run = 0;
  for (std::size_t i = work.to_read_at; i < work.to_read.size(); ++i) {
    const BlockId b = work.to_read[i];
    if (!missing_.test(b)) continue;
    const bool joins = !order_.empty() && order_.back() + 1 == b && run < merge;
    if (static_cast<BlockId>(order_.size()) == count || (!joins && requests == most_requests)) {
      work.to_read_at = i;
      return;
    }
    run = joins ? run + 1 : 1;
    requests += joins ? 0 : 1;
    order_.push_back(b);
  }
  work.to_read_at = work.to_read.size();
  LEANSTREAM_CHECK(!order_.empty(), "layer {} misses blocks that are in no reading order",
                   work.layer);
}

// The same where each block is a request.
void Scheduler::next_single(LayerWork& work, std::int64_t count) {
  order_.resize(static_cast<std::size_t>(count) + 1);
  std::size_t n = 0;
  std::size_t i = work.to_read_at;
  for (; i < work.to_read.size() && n < static_cast<std::size_t>(count); ++i) {
    order_[n] = work.to_read[i];
    n += missing_.test(order_[n]) ? 1 : 0;
  }
  order_.resize(n);
  work.to_read_at = i;
  LEANSTREAM_CHECK(n > 0, "layer {} misses blocks that are in no reading order", work.layer);
}

// Appends the candidates to `out`: by falling priority (of equal ones the lower block; a counting
// sort over the priority byte) or in flash order. The halves of the list are counted side by side:
// neighbours are often of one class, and adding to one counter waits for the addition before.
void Scheduler::order_blocks(const LayerWork& work, const BlockSet& candidates, bool by_priority,
                             std::vector<BlockId>& out) {
  if (!by_priority) return candidates.list(out);
  listed_.clear();
  candidates.list(listed_);
  const std::size_t half = listed_.size() / 2;
  const auto lower = std::span(listed_).first(half);
  const auto upper = std::span(listed_).subspan(half);  // as long, or longer by one
  const auto class_at = [&](BlockId b) {
    return std::size_t{255} - work.priority[static_cast<std::size_t>(b)];
  };
  std::array<std::array<BlockId, 256>, 2> at{};
  for (std::size_t i = 0; i < half; ++i) {
    ++at[0][class_at(lower[i])];
    ++at[1][class_at(upper[i])];
  }
  if (upper.size() > half) ++at[1][class_at(upper[half])];
  auto next = static_cast<BlockId>(out.size());
  out.resize(out.size() + listed_.size());
  for (std::size_t c = 0; static_cast<std::size_t>(next) < out.size(); ++c) {
    for (auto& of_half : at) next += std::exchange(of_half[c], next);
  }
  const auto put = [&](std::array<BlockId, 256>& of_half, BlockId b) {
    out[static_cast<std::size_t>(of_half[class_at(b)]++)] = b;
  };
  for (std::size_t i = 0; i < half; ++i) {
    put(at[0], lower[i]);
    put(at[1], upper[i]);
  }
  if (upper.size() > half) put(at[1], upper[half]);
}

// T_F has shown which prefetched blocks are not wanted (`prefetch_cancel: queued`).
void Scheduler::cancel_unwanted(const LayerWork& work) {
  if (spec_.prefetch_cancel == PrefetchCancel::none) return;
  for (const TicketId id : reads_) {
    const Ticket& ticket = tickets_[id % tickets_.size()];
    if (ticket.step != work.step) continue;
    const Payload& payload = payloads_[static_cast<std::size_t>(ticket.payload)];
    bool all_wanted = true;
    for (std::size_t i = 0; i < payload.blocks.size(); ++i) {
      all_wanted &= work.wanted.test(payload.blocks[i]) ||
                    (ticket.across > 0 && passes(work.layer, payload, i));
    }
    if (all_wanted) continue;
    emit(CommandKind::cancel, work.step, work.layer, work.token, work.tokens).target = id;
  }
}

}  // namespace leanstream::scheduler
