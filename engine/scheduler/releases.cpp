// The accelerator's side of a layer: segments are released as their blocks arrive.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

void Scheduler::pump_releases() {
  if (current_ == nullptr || !current_->final || current_->ended) return;
  LayerWork& work = *current_;
  if (!work.began) {
    emit(CommandKind::begin_layer, work.step, work.layer, work.token, work.tokens);
    work.began = true;
  }
  while (work.waiting() > 0) {
    const BlockId segment = next_segment(work);
    if (work.waiting() < std::min(segment, work.unreleased())) break;
    release(work, std::min(segment, work.waiting()));
  }
  if (work.unreleased() == 0) {
    emit(CommandKind::end_layer, work.step, work.layer, work.token, work.tokens);
    work.ended = true;
  }
}

// Blocks of the next segment; fewer when the layer has no more.
BlockId Scheduler::next_segment(const LayerWork& work) const {
  if (work.prefill) return work.waiting();  // whatever has arrived
  const auto released = static_cast<BlockId>(work.released);
  if (work.plan.cluster_blocks > 0) {
    return released < work.dense_blocks ? work.dense_blocks - released : work.plan.cluster_blocks;
  }
  const PlanPiece piece(work.wanted_blocks, released, work.plan.stages);
  return piece.cut(work.plan.stage[piece.stage].omega_gpu);
}

void Scheduler::release(LayerWork& work, BlockId count) {
  const std::int32_t index = take_payload();
  Payload& payload = payloads_[static_cast<std::size_t>(index)];
  const auto blocks = std::span(work.ready).subspan(work.released, static_cast<std::size_t>(count));
  work.released += blocks.size();
  payload.blocks.assign(blocks.begin(), blocks.end());
  payload.slots.resize(blocks.size());
  const BlockSet& resident = arena_.resident(work.layer);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    LEANSTREAM_CHECK(resident.test(blocks[i]), "block {} of layer {} is not there", blocks[i],
                     work.layer);
    payload.slots[i] = arena_.slot_of(work.layer, blocks[i]);
  }
  Command& command = emit(CommandKind::release, work.step, work.layer, work.token, work.tokens);
  command.segment = work.segments++;
  ++work.segments_outstanding;
  attach(command, index);
}

// A segment's done flag: its blocks' partial results are in, and their slots may be reused.
void Scheduler::release_done(const Ticket& ticket, const Completion& completion) {
  Payload& payload = payloads_[static_cast<std::size_t>(ticket.payload)];
  LEANSTREAM_CHECK(current_ != nullptr && current_->step == ticket.step,
                   "a segment of step {} ends outside its layer", ticket.step);
  LayerWork& work = *current_;
  for (const BlockId b : payload.blocks) {
    work.computed.set(b);
    work.units_computed += work.units[static_cast<std::size_t>(b)];
  }
  const auto blocks = static_cast<TimeNs>(payload.blocks.size());
  if (!work.prefill) pace_.compute_block_ns.add(completion.work_ns / std::max<TimeNs>(1, blocks));
  give_back(ticket.payload);
  --work.segments_outstanding;
  tally_.accelerator_work_ns += completion.work_ns;
  // Stage ⌊K·f⌋, f the computed share of the predicted importance.
  const std::uint64_t wanted = std::max<std::uint64_t>(1, work.units_wanted);
  request_refinement(static_cast<std::int32_t>(kStages * work.units_computed / wanted));
}

void Scheduler::attention_done(const Completion& completion) {
  current_->attention_done = true;
  tally_.accelerator_work_ns += completion.work_ns;
  if (current_->prefill) return;
  pace_.attention_ns.add(now_ - pace_.last_start_ns);
  if (timing_ == Timing::own_input) request_final(*current_);
  request_refinement(0);
}

}  // namespace leanstream::scheduler
