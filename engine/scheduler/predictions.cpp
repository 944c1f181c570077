// What is wanted: predictions are requested, run one at a time, and become final.
#include <algorithm>
#include <numeric>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {
namespace {

BlockId divide_up(BlockId a, std::int32_t b) {
  return (a + b - 1) / b;
}

}  // namespace

void Scheduler::request_final(LayerWork& work, std::int32_t feature) {
  if (work.final_requested) return;
  work.final_requested = true;
  final_requests_.push_back({work.step, feature});
}

// Segments that finish while a prediction runs are folded: only the newest stage waits.
void Scheduler::request_refinement(std::int32_t stage) {
  const bool refines = timing_ == Timing::residual && spec_.refine && stage < kStages;
  if (!refines || next_ == nullptr || next_->layer == 0 || next_->prefill) return;
  if (stage > next_->requested_stage) waiting_stage_ = std::max(waiting_stage_, stage);
}

void Scheduler::pump_predictions() {
  if (predicting_) return;
  if (!final_requests_.empty()) {
    const FinalRequest request = final_requests_.front();
    final_requests_.erase(final_requests_.begin());
    LayerWork* work = find(request.step);
    LEANSTREAM_CHECK(work != nullptr && !work->final, "a final prediction for step {} is late",
                     request.step);
    return submit_prediction(*work, request.feature);
  }
  if (waiting_stage_ == kNone || next_ == nullptr) return;
  next_->requested_stage = waiting_stage_;
  submit_prediction(*next_, std::exchange(waiting_stage_, kNone));
}

void Scheduler::submit_prediction(LayerWork& work, std::int32_t feature) {
  Command& command = emit(CommandKind::predict, work.step, work.layer, work.token, 1);
  command.feature = feature;
  tickets_[command.ticket % tickets_.size()].feature = feature;
  predicting_ = true;
}

void Scheduler::prediction_done(const Ticket& ticket, const Completion& completion) {
  predicting_ = false;
  ++tally_.predictions;
  if (!failure_.empty()) return;
  LayerWork* work = find(ticket.step);
  LEANSTREAM_CHECK(work != nullptr && !work->final, "a prediction for step {} came too late",
                   ticket.step);
  selection_.choose(work->token, work->layer, completion.scores, work->wanted, work->priority);
  const auto sums = selection_.sum(work->layer, completion.scores);
  std::copy(sums.begin(), sums.end(), work->units.begin());
  work->predicted = true;
  const bool own = ticket.feature == kFeatureOwn;
  const bool ahead = timing_ == Timing::one_shot_ahead;
  if (own || ahead || (ticket.feature == kFeatureFinal && timing_ == Timing::residual)) {
    make_final(*work);
  }
}

void Scheduler::set_wanted_all(LayerWork& work) {
  work.wanted.fill();
  std::fill(work.priority.begin(), work.priority.end(), std::uint8_t{1});
  std::fill(work.units.begin(), work.units.end(), std::uint64_t{1});
  work.predicted = true;
}

// Layer 0 has no features before its token exists: its prefetch goes by the token before.
void Scheduler::set_wanted_as_before(LayerWork& work) {
  if (last_first_layer_.empty()) return;
  work.wanted = last_first_layer_;
  work.priority = last_first_priority_;
  work.predicted = true;
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
  work.demand_misses = work.wanted_blocks - work.wanted.count_common(left_by_others);
  work.final_misses = work.wanted_blocks - work.wanted.count_common(resident);
  const BlockId on_their_way = work.wanted.count_common(in_flight);

  const policy::Plan plan =
      work.prefill ? policy::Plan{} : policies_.controller->plan({work.layer, work.final_misses});
  LEANSTREAM_CHECK(plan.omega_io >= 1 && plan.omega_gpu >= 1, "plan ({}, {})", plan.omega_io,
                   plan.omega_gpu);
  plan_ = plan;
  const BlockId to_read = work.final_misses - on_their_way;
  work.part_blocks = std::max<BlockId>(1, divide_up(to_read, plan.omega_io));
  // Prefill computes what arrives and reads ahead in the other half of the arena.
  work.segment_blocks = work.prefill ? 1 : divide_up(work.wanted_blocks, plan.omega_gpu);
  if (work.prefill) {
    work.part_blocks = std::clamp<BlockId>(arena_.slots() / 2, 1, work.part_blocks);
  }
  work.units_wanted = 0;
  work.wanted.for_each(
      [&](BlockId b) { work.units_wanted += work.units[static_cast<std::size_t>(b)]; });
  order_ready(work);
  if (work.prefill) return;

  tally_.blocks_wanted += work.wanted_blocks;
  tally_.demand_misses += work.demand_misses;
  tally_.final_misses += work.final_misses;
  tally_.in_flight += on_their_way;
  tally_.blocks_redundant += work.prefetched.count() - work.prefetched.count_common(work.wanted);
  final_sets_.emplace_back(work.layer, work.wanted);
  if (work.layer == 0) {
    last_first_layer_ = work.wanted;
    last_first_priority_ = work.priority;
  }
}

// Resident blocks are computed first, by priority; what arrives later follows in its order.
void Scheduler::order_ready(LayerWork& work) {
  BlockSet there = work.wanted;
  there &= arena_.resident(work.layer);
  choose_part(work, there, there.count(), work.ready);
  if (spec_.compute_order == ComputeOrder::flash) std::sort(work.ready.begin(), work.ready.end());
}

}  // namespace leanstream::scheduler
