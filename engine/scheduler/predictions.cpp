// What is wanted: predictions are requested, run one at a time, and become final.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/vector_scan.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

void Scheduler::request_final(LayerWork& work) {
  if (work.final_requested) return;
  work.final_requested = true;
  final_requests_.push_back({work.step, final_feature(timing_, work.layer)});
}

// Segments that finish while a prediction runs are folded: only the newest stage waits.
void Scheduler::request_refinement(std::int32_t stage) {
  if (!refines_ || stage >= kStages) return;
  if (next_ == nullptr || next_->layer == 0 || next_->prefill) return;
  if (stage > next_->requested_stage) refinement_ = {next_->step, stage};
}

void Scheduler::pump_predictions() {
  if (predicting_) return;
  if (!final_requests_.empty()) {
    const Request request = final_requests_.front();
    final_requests_.erase(final_requests_.begin());
    LayerWork* work = find(request.step);
    LEANSTREAM_CHECK(work != nullptr && !work->final, "a final prediction for step {} is late",
                     request.step);
    return submit_prediction(*work, request.feature);
  }
  LayerWork* work = find(refinement_.step);
  if (work == nullptr || work->final) return;
  work->requested_stage = refinement_.feature;
  submit_prediction(*work, std::exchange(refinement_, {}).feature);
}

void Scheduler::submit_prediction(LayerWork& work, std::int32_t feature) {
  Command& command = emit(CommandKind::predict, work.step, work.layer, work.token, 1);
  command.feature = feature;
  ticket_of(command).feature = feature;
  predicting_ = true;
}

void Scheduler::prediction_done(const Ticket& ticket, const Completion& completion) {
  predicting_ = false;
  ++tally_.predictions;
  if (!failure_.empty() || done_) return;
  LayerWork* work = find(ticket.step);
  LEANSTREAM_CHECK(work != nullptr && !work->final, "a prediction for step {} came too late",
                   ticket.step);
  selection_.choose(work->token, work->layer, completion.scores,
                    policies_.cache->always_computed(work->layer), *work);
  work->to_read_stale = true;
  work->predicted = true;
  if (ticket.feature == final_feature(timing_, work->layer)) make_final(*work);
}

void Scheduler::set_wanted_all(LayerWork& work) {
  work.wanted.fill();
  std::fill(work.priority.begin(), work.priority.end(), std::uint8_t{1});
  std::fill(work.units.begin(), work.units.end(), std::uint32_t{1});
  work.predicted = work.to_read_stale = true;
}

// Layer 0 of the next token is prefetched by a guess.
void Scheduler::set_first_layer(LayerWork& work) {
  if (work.predicted) return;
  first_layer_.guess(work.wanted, work.priority);
  work.predicted = work.to_read_stale = true;
}

// T_F(n): the look-up, both miss ratios, R(n) and the plan.
void Scheduler::make_final(LayerWork& work) {
  work.final = true;
  const BlockSet& resident = arena_.resident(work.layer);
  const BlockSet& in_flight = arena_.in_flight(work.layer);
  work.wanted_blocks = work.wanted.count();

  BlockSet left_by_others = resident;  // in the cache from an earlier token
  left_by_others |= in_flight;
  left_by_others -= work.prefetched;
  const BlockId demand_misses = work.wanted_blocks - work.wanted.count_common(left_by_others);
  work.final_misses = work.wanted_blocks - work.wanted.count_common(resident);
  const BlockId on_their_way = work.wanted.count_common(in_flight);

  plan_ =
      work.prefill
          ? policy::Plan{}
          : policies_.controller->plan(
                {work.layer, work.step - static_cast<StepId>(spec_.prompt_tokens) * spec_.layers,
                 work.final_misses});
  LEANSTREAM_CHECK(plan_.stages >= 1 && plan_.stages <= static_cast<int>(policy::kMostPlanStages),
                   "a plan of {} stages", plan_.stages);
  work.plan = plan_;
  work.read_target = std::max<BlockId>(1, work.final_misses - on_their_way);
  work.submitted = 0;
  work.to_read_stale = true;
  work.units_wanted = vector_total_of(work.units, work.wanted.words());
  order_ready(work);
  if (work.prefill) return;

  tally_.blocks_wanted += work.wanted_blocks;
  tally_.demand_misses += demand_misses;
  tally_.final_misses += work.final_misses;
  tally_.in_flight += on_their_way;
  tally_.blocks_redundant += work.prefetched.count() - work.prefetched.count_common(work.wanted);
  final_sets_[final_sets_count_++] = work.wanted;
  if (work.layer == 0) first_layer_.used(work.wanted, work.priority);
  if (ahead_ == policy::ReadAhead::speculative && next_ != nullptr && next_->layer == 0) {
    set_first_layer(*next_);
  }
  cancel_unwanted(work);
}

// Resident blocks are computed first (under a plan with clusters those that always are, as one
// segment); what arrives later follows in its order.
void Scheduler::order_ready(LayerWork& work) {
  BlockSet& there = missing_;
  there = work.wanted;
  there &= arena_.resident(work.layer);
  const bool by_priority = spec_.compute_order == ComputeOrder::priority && !work.prefill;
  const BlockSet* always = work.prefill ? nullptr : policies_.cache->always_computed(work.layer);
  if (work.plan.cluster_blocks > 0 && always != nullptr) {
    BlockSet dense = there;
    dense &= *always;
    order_blocks(work, dense, by_priority, work.ready);
    work.dense_blocks = static_cast<BlockId>(work.ready.size());
    there -= dense;
  }
  order_blocks(work, there, by_priority, work.ready);
}

}  // namespace leanstream::scheduler
