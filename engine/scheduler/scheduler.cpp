#include "engine/scheduler/scheduler.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/vector_scan.h"

namespace leanstream::scheduler {
namespace {

// Tickets that may be outstanding: every block of two layers alone, and some commands more.
std::size_t most_tickets(const RunSpec& spec) {
  return 1024 + 2 * static_cast<std::size_t>(spec.geometry.blocks_per_layer);
}

// Of one layer.
SlotId smallest_of_layer(const RunSpec& spec, const Policies& policies) {
  const BlockId blocks = spec.geometry.blocks_per_layer;
  const BlockId wanted = policies.predictor->wants_everything()
                             ? blocks
                             : std::min(Selection::wanted_count(spec), blocks);
  const policy::Plan plan = policies.controller->coarsest();
  const BlockId stage = divide_up(wanted, plan.stages);
  BlockId segment = plan.cluster_blocks > 0 ? std::min(wanted, plan.cluster_blocks) : 0;
  BlockId part = 0;
  for (std::int32_t s = 0; s < plan.stages; ++s) {
    const policy::StagePlan& cut = plan.stage[static_cast<std::size_t>(s)];
    if (plan.cluster_blocks == 0) segment = std::max(segment, divide_up(stage, cut.omega_gpu));
    part = std::max(part, divide_up(stage, cut.omega_io));
  }
  return segment + part + spec.queue_depth * spec.io_lanes;
}

bool one_shot(const Policies& policies) {
  return policies.controller->predicts() != policy::Predicts::refined;
}

}  // namespace

Timing timing_of(const RunSpec& spec, const Policies& policies) {
  if (policies.predictor->wants_everything()) return Timing::known;
  switch (policies.controller->predicts()) {
    case policy::Predicts::one_shot_ahead:
      return Timing::one_shot_ahead;
    case policy::Predicts::one_shot_at_input:
      return Timing::own_input;
    case policy::Predicts::refined:
      break;
  }
  return spec.final_at == FinalAt::own_input ? Timing::own_input : Timing::residual;
}

SlotId smallest_slots(const RunSpec& spec, const Policies& policies) {
  const BlockId blocks = spec.geometry.blocks_per_layer;
  const SlotId of_layer = smallest_of_layer(spec, policies);
  if (spec.scope != Scope::shared) return spec.layers * std::min(of_layer, blocks);
  return std::min<SlotId>(of_layer, spec.layers * blocks);
}

void check_budget(const RunSpec& spec, const Policies& policies) {
  const SlotId smallest = smallest_slots(spec, policies);
  if (spec.slots >= smallest) return;
  throw UserError(
      "a memory budget of {} bytes ({} blocks) is too small: one accelerator segment, one I/O "
      "part and the device queue{} need {} blocks, {} bytes",
      spec.geometry.block_bytes * static_cast<Bytes>(spec.slots), spec.slots,
      spec.scope == Scope::shared ? "" : " in every layer", smallest,
      spec.geometry.block_bytes * static_cast<Bytes>(smallest));
}

Scheduler::Scheduler(const RunSpec& spec, const Policies& policies)
    : spec_(spec),
      policies_(policies),
      timing_(timing_of(spec, policies)),
      refines_(spec.refine && !one_shot(policies) &&
               (timing_ == Timing::residual || timing_ == Timing::own_input)),
      ahead_(policies.controller->predicts() == policy::Predicts::one_shot_at_input
                 ? policy::ReadAhead::none
                 : policies.loader->read_ahead()),
      tells_scores_(policies.cache->reads_scores() && !policies.predictor->wants_everything()),
      selection_(spec, *policies.activations),
      arena_(spec.layers, spec.geometry.blocks_per_layer, spec.slots),
      works_{LayerWork(spec.geometry.blocks_per_layer), LayerWork(spec.geometry.blocks_per_layer)},
      first_layer_(spec.layer0, spec.geometry.blocks_per_layer),
      quotas_(spec.scope, spec.layers, spec.geometry.blocks_per_layer, spec.slots,
              std::min(smallest_of_layer(spec, policies), spec.geometry.blocks_per_layer)),
      missing_(spec.geometry.blocks_per_layer),
      evictable_(static_cast<std::size_t>(spec.layers), BlockSet(spec.geometry.blocks_per_layer)),
      evictable_as_of_(static_cast<std::size_t>(spec.layers)),
      evictable_versions_(static_cast<std::size_t>(spec.layers)),
      across_(spec.geometry.blocks_per_layer),
      passed_(spec.geometry.blocks_per_layer),
      lost_(spec.geometry.blocks_per_layer),
      expired_(spec.geometry.blocks_per_layer),
      inserted_(spec.geometry.blocks_per_layer),
      truth_(spec.geometry.blocks_per_layer),
      tickets_(most_tickets(spec)) {
  check_budget(spec, policies);
  LEANSTREAM_CHECK(spec.tokens >= 1 && spec.tokens <= policies.activations->tokens() &&
                       spec.prompt_tokens >= 0 && spec.prompt_tokens <= spec.tokens,
                   "{} tokens of which {} prompt, from {}", spec.tokens, spec.prompt_tokens,
                   policies.activations->tokens());
  metrics_.nll.reserve(static_cast<std::size_t>(spec.tokens));
  metrics_.sampled.reserve(static_cast<std::size_t>(spec.tokens));
  metrics_.tokens.reserve(static_cast<std::size_t>(spec.tokens));
  metrics_.requests_by_blocks.resize(static_cast<std::size_t>(policies.loader->merge_blocks()) + 1);
  const auto steps = static_cast<std::size_t>(spec.tokens - spec.prompt_tokens) *
                     static_cast<std::size_t>(spec.layers);
  final_sets_.assign(steps, BlockSet(spec.geometry.blocks_per_layer));
}

void Scheduler::start(TimeNs now) {
  now_ = metrics_.start_ns = metrics_.prefill_end_ns = token_start_ns_ = now;
  next_ = &works_[0];
  next_->reset(0, 0, spec_.prompt_tokens, 0);
  prefilling_ = spec_.prompt_tokens > 0;
  open_layer();
  decide();
}

TimeNs Scheduler::deadline() const {
  return now_ + spec_.stall_timeout_ns;
}

void Scheduler::on(std::span<const Completion> batch) {
  for (const Completion& completion : batch) {
    LEANSTREAM_CHECK(completion.time_ns >= now_, "time went back from {} to {} ns", now_,
                     completion.time_ns);
    advance(completion.time_ns);
    if (completion.status == Status::timed_out) {
      fail(fmt::format("no device answered within {} s; {} commands are outstanding",
                       static_cast<double>(spec_.stall_timeout_ns) * 1e-9, outstanding_));
      outstanding_ = 0;  // nobody will answer
      return;
    }
    handle(completion);
  }
  if (failure_.empty() && !done_) decide();
}

void Scheduler::handle(const Completion& completion) {
  const Ticket ticket = settle(completion);
  ++metrics_.events;
  if (completion.status == Status::failed && !done_) {
    fail(fmt::format("the device gave up on {} of layer {}", name_of(ticket.kind), ticket.layer));
  }
  switch (ticket.kind) {
    case CommandKind::read:
      return read_done(ticket, completion);
    case CommandKind::attention:
      return attention_done(completion);
    case CommandKind::release:
      return release_done(ticket, completion);
    case CommandKind::end_layer:
      return failure_.empty() ? close_layer(completion) : void();
    case CommandKind::predict:
      return prediction_done(ticket, completion);
    case CommandKind::head:
      tally_.accelerator_work_ns += completion.work_ns;
      return failure_.empty() ? head_done(completion) : void();
    case CommandKind::begin_layer:
    case CommandKind::cancel:
      return;
  }
}

void Scheduler::decide() {
  pump_predictions();
  pump_reads();
  pump_releases();
  if (outstanding_ == 0) force_room();
  hash_commands();
  LEANSTREAM_CHECK(outstanding_ > 0, "nothing is under way and nothing can be");
}

Phase Scheduler::phase() const {
  if (done_) return Phase::idle;
  if (current_ == nullptr) return Phase::head;
  if (!current_->attention_done) return Phase::attention;
  if (!current_->final) return Phase::prediction_wait;
  const bool waits = current_->segments_outstanding == 0 && !current_->ended;
  return waits ? Phase::stall : Phase::mlp;
}

void Scheduler::advance(TimeNs now) {
  const TimeNs dt = now - now_;
  const Phase p = phase();
  tally_.phase_ns[static_cast<std::size_t>(p)] += dt;
  const bool works = p == Phase::attention || p == Phase::mlp || p == Phase::head;
  if (reads_in_flight_ > 0) {
    tally_.io_busy_ns += dt;
    if (works) tally_.both_busy_ns += dt;
  }
  if (predicting_) tally_.prediction_ns += dt;
  now_ = now;
}

// Fills the spare work with what follows the current layer; false when nothing does yet.
bool Scheduler::prepare_next() {
  const LayerWork& work = *current_;
  const bool last_layer = work.layer + 1 == spec_.layers;
  if (last_layer && (work.prefill || work.token + 1 == spec_.tokens)) return false;
  next_ = current_ == &works_[0] ? &works_[1] : &works_[0];
  next_->reset(work.step + 1, last_layer ? work.token + 1 : work.token,
               work.prefill ? spec_.prompt_tokens : 0, last_layer ? 0 : work.layer + 1);
  return true;
}

// T_GPU(n−1): what was next is current; its attention starts at once.
void Scheduler::open_layer() {
  current_ = std::exchange(next_, nullptr);
  LayerWork& work = *current_;
  opened_step_ = work.step;
  refinement_ = {};
  emit(CommandKind::attention, work.step, work.layer, work.token, work.tokens);
  pace_.last_start_ns = now_;
  const bool has_next = prepare_next();
  if (work.prefill || timing_ == Timing::known) {
    if (!work.predicted) set_wanted_all(work);
    make_final(work);
    if (has_next) set_wanted_all(*next_);
    return;
  }
  if (timing_ != Timing::own_input) request_final(work);  // one_shot_ahead: only layer 0 still is
  if (timing_ == Timing::one_shot_ahead && has_next && next_->layer != 0) request_final(*next_);
  // Until its own input is known, the residual after the whole layer before speculates.
  const bool speculates = timing_ == Timing::own_input && refines_ && work.layer != 0;
  if (speculates) refinement_ = {work.step, kFeatureFinal};
}

// T_GPU(n): the sum of the layer is complete.
void Scheduler::close_layer(const Completion& completion) {
  LayerWork& work = *current_;
  LEANSTREAM_CHECK(work.unreleased() == 0 && work.segments_outstanding == 0,
                   "layer {} ends with {} blocks to compute", work.layer, work.unreleased());
  if (work.prefill) {
    note_prompt_use(work, completion.scores);
  } else {
    if (tells_scores_) {
      policies_.cache->scored(work.layer, work.units, work.step);
    }
    policies_.cache->used(work.layer, work.wanted, work.step);
    note_importance(work, completion.scores);
  }
  drop_expired(work.layer, work.step);
  const bool last_layer = work.layer + 1 == spec_.layers;
  if (!last_layer) return open_layer();
  if (work.prefill) policies_.cache->prompt_ended();
  const TokenId token = work.token + work.tokens - 1;
  current_ = nullptr;
  emit(CommandKind::head, work.step, kNone, token, 1);
  pace_.last_start_ns = now_;
}

void Scheduler::note_importance(const LayerWork& work, std::span<const std::uint8_t> scores) {
  tally_.computed_share += static_cast<double>(work.wanted_blocks) / work.wanted.size();
  ++tally_.layers;
  if (scores.empty()) {
    if (!policies_.activations->known(work.token, work.layer)) return;
    scores = policies_.activations->importance(work.token, work.layer);
  }
  const auto& units = truth_.units;
  selection_.sum(work.layer, scores, truth_.units);
  const std::uint64_t all = vector_total(units);
  const std::uint64_t computed = vector_total_of(units, work.wanted.words());
  tally_.importance_share += all > 0 ? static_cast<double>(computed) / static_cast<double>(all) : 1;
  ++tally_.importance_layers;
}

// What prefill tells the cache: each prompt token used its own active set. `scores` are of all
// tokens, or empty.
void Scheduler::note_prompt_use(const LayerWork& work, std::span<const std::uint8_t> scores) {
  const auto ffn = static_cast<std::size_t>(spec_.geometry.ffn);
  for (TokenId t = 0; t < work.tokens; ++t) {
    if (policies_.predictor->wants_everything()) {
      truth_.wanted.fill();
    } else {
      const auto truth = scores.empty() ? policies_.activations->importance(t, work.layer)
                                        : scores.subspan(static_cast<std::size_t>(t) * ffn, ffn);
      selection_.choose(t, work.layer, truth, nullptr, truth_);
    }
    const StepId step = static_cast<StepId>(t) * spec_.layers + work.layer;
    if (tells_scores_) {
      policies_.cache->scored(work.layer, truth_.units, step);
    }
    policies_.cache->used(work.layer, truth_.wanted, step);
    quotas_.prompt_used(work.layer, truth_.wanted);
    if (work.layer == 0) first_layer_.used(truth_.wanted, truth_.priority);
  }
}

// The next token exists; T_GPU(−1) of its step.
void Scheduler::head_done(const Completion& completion) {
  metrics_.sampled.push_back(completion.sampled);
  metrics_.nll.insert(metrics_.nll.end(), completion.nll.begin(), completion.nll.end());
  if (prefilling_) {
    end_prefill();
  } else {
    pace_.head_ns.add(now_ - pace_.last_start_ns);
    metrics_.tokens.push_back({spec_.prompt_tokens + static_cast<TokenId>(metrics_.tokens.size()),
                               token_start_ns_, now_, tally_});
    metrics_.decode.add(tally_);
  }
  tally_ = {};
  token_start_ns_ = now_;
  const bool answered = completion.sampled != kNone && completion.sampled == spec_.end_token;
  if (next_ != nullptr && !answered) return open_layer();
  // What is still being read is for a token that does not come.
  if (next_ != nullptr) opened_step_ = std::exchange(next_, nullptr)->step;
  close_part();
  metrics_.end_ns = now_;
  done_ = true;
}

void Scheduler::end_prefill() {
  const StepId first_decoded = static_cast<StepId>(spec_.prompt_tokens) * spec_.layers;
  prefilling_ = false;
  metrics_.prefill_end_ns = now_;
  metrics_.prefill_bytes_read = static_cast<Bytes>(tally_.blocks_read) * spec_.geometry.block_bytes;
  std::fill(metrics_.requests_by_blocks.begin(), metrics_.requests_by_blocks.end(), 0);
  metrics_.request_latency.clear();
  for (LayerId l = 0; l < spec_.layers; ++l) drop_expired(l, first_decoded);
  drop_above_quota();
  if (spec_.tokens > spec_.prompt_tokens) {
    next_ = &works_[0];
    next_->reset(first_decoded, spec_.prompt_tokens, 0, 0);
  }
}

void Scheduler::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  metrics_.end_ns = now_;
}

LayerWork* Scheduler::find(StepId step) {
  if (current_ != nullptr && current_->step == step) return current_;
  if (next_ != nullptr && next_->step == step) return next_;
  return nullptr;
}

void Scheduler::check_conservation() const {
  arena_.check();
  LEANSTREAM_CHECK(bytes_requested_ == bytes_completed_ + bytes_not_read_ || !failure_.empty(),
                   "{} bytes requested, {} completed, {} not read", bytes_requested_,
                   bytes_completed_, bytes_not_read_);
  LEANSTREAM_CHECK(outstanding_ == 0 || !failure_.empty(), "{} commands never completed",
                   outstanding_);
}

}  // namespace leanstream::scheduler
