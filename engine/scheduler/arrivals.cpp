// What reads bring: blocks arrive, are published to the accelerator, or could not be read.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

void Scheduler::read_done(const Ticket& ticket, const Completion& completion) {
  Payload& payload = payloads_[static_cast<std::size_t>(ticket.payload)];
  const auto requested = static_cast<BlockId>(payload.blocks.size());
  --reads_in_flight_;
  requests_in_flight_ -= ticket.requests;
  blocks_in_flight_ -= requested;
  reads_.erase(std::find(reads_.begin(), reads_.end(), completion.ticket));
  for (const TimeNs ns : completion.request_ns) metrics_.request_latency.add(ns);
  const BlockId passed = ticket.across > 0 ? drop_passed(ticket, completion, payload) : 0;
  if (completion.status != Status::ok) not_read(ticket, completion, payload);
  const auto read = static_cast<BlockId>(payload.blocks.size()) + passed;
  if (read > 0) {
    const TimeNs from = std::max(pace_.last_read_ns, ticket.submitted_ns);
    pace_.read_block_ns.add((now_ - from) / read);
  }
  pace_.last_read_ns = now_;
  bytes_completed_ += static_cast<Bytes>(read) * spec_.geometry.block_bytes;
  bytes_not_read_ += static_cast<Bytes>(requested - read) * spec_.geometry.block_bytes;

  Part& part = parts_[static_cast<std::size_t>(ticket.part)];
  --part.outstanding;
  part.arrived.push_back(ticket.payload);
  const bool at_once = spec_.publish == Publish::block;
  if (at_once || (part.outstanding == 0 && ticket.part != open_part_)) publish(part);
  if (part.outstanding == 0 && ticket.part != open_part_) free_parts_.push_back(ticket.part);
}

// Takes the blocks that are not there out of the payload; they are missing again.
void Scheduler::not_read(const Ticket& ticket, const Completion& completion, Payload& payload) {
  const bool all = completion.status == Status::failed;
  const std::span<const BlockId> lost = all ? payload.blocks : completion.not_read;
  LEANSTREAM_CHECK(completion.status != Status::error || !lost.empty(),
                   "ticket {} is an error without blocks", ticket.id);
  lost_.clear();
  const auto passed = [&](BlockId b) { return ticket.across > 0 && passed_.test(b); };
  for (const BlockId b : lost) {
    if (passed(b)) continue;
    lost_.set(b);
    arena_.cancel(ticket.layer, b);
  }
  for (LayerWork* work : {current_, next_}) {
    if (work != nullptr && work->layer == ticket.layer) work->to_read_stale = true;
  }
  LayerWork* work = find(ticket.step);
  const bool taken_back = completion.status == Status::cancelled;
  for (const BlockId b : lost) {
    if (passed(b)) continue;
    if (taken_back) {
      --tally_.blocks_read;
      ++tally_.blocks_cancelled;
      // What was counted as redundant at T_F was not read after all. A layer that is over had all
      // it wanted.
      if (work == nullptr || (work->final && !work->wanted.test(b))) --tally_.blocks_redundant;
    } else {
      ++tally_.read_errors;
    }
    if (work == nullptr) continue;
    if (!work->final) work->prefetched.reset(b);
    work->failed = true;
    auto& failures = work->failures[static_cast<std::size_t>(b)];
    if (!taken_back && ++failures > spec_.read_retries && !all) {
      fail(fmt::format("block {} of layer {} could not be read {} times", b, ticket.layer,
                       failures));
    }
  }
  std::erase_if(payload.blocks, [&](BlockId b) { return lost_.test(b); });
}

// The open part gets no more reads.
void Scheduler::close_part() {
  if (open_part_ == kNone) return;
  const std::int32_t index = std::exchange(open_part_, kNone);
  Part& part = parts_[static_cast<std::size_t>(index)];
  if (part.outstanding > 0) return;
  publish(part);
  free_parts_.push_back(index);
}

// The step that blocks of a layer arrive for, whatever they were asked for: a redundant read may
// end when its step is long over, and later than one of the step to come. Of a layer it never
// decreases.
StepId Scheduler::arrival_step(LayerId layer) const {
  for (const LayerWork* work : {current_, next_}) {
    if (work != nullptr && work->layer == layer) return work->step;
  }
  return opened_step_;
}

// Blocks that arrived with the part may be seen now.
void Scheduler::publish(Part& part) {
  for (const std::int32_t index : part.arrived) {
    const auto& blocks = payloads_[static_cast<std::size_t>(index)].blocks;
    arena_.arrived(part.layer, blocks);
    for (const BlockId b : blocks) inserted_.set(b);
    policies_.cache->inserted(part.layer, inserted_, arrival_step(part.layer));
    for (const BlockId b : blocks) inserted_.reset(b);
    for (LayerWork* work : {current_, next_}) {
      if (work == nullptr || !work->final || work->layer != part.layer) continue;
      for (const BlockId b : blocks) {
        if (work->wanted.test(b) && !work->computed.test(b)) work->ready.push_back(b);
      }
    }
    give_back(index);
  }
  part.arrived.clear();
}

}  // namespace leanstream::scheduler
