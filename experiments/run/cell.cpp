#include "experiments/run/cell.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/backend/log_file.h"
#include "engine/backend/recording.h"
#include "engine/backend/replay.h"
#include "engine/backend/run_loop.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/scheduler/belady.h"
#include "engine/scheduler/future_sets.h"
#include "engine/scheduler/scheduler.h"
#include "experiments/run/assumed.h"
#include "experiments/run/cell_activations.h"
#include "experiments/run/child.h"
#include "experiments/run/logs.h"
#include "experiments/run/plan_search.h"

namespace leanstream::run {
namespace {

constexpr Bytes kPrefillReadBytes = Bytes{1} << 20;  // one request of prefill

// What requests that come as fast as the device takes them leave room for.
Bytes request_bytes(const platform::Flash& flash) {
  const double peak = std::min(flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s);
  return static_cast<Bytes>(peak / flash.requests_per_s);
}

CellResult result_of(const Cell& cell, const scheduler::Scheduler& scheduler) {
  const auto spec = cell.run_spec();
  CellResult result;
  result.metrics = scheduler.metrics();
  result.commands_hash = scheduler.commands_hash();
  result.failure = scheduler.failure();
  scheduler::BeladyBound belady(spec.layers, spec.geometry.blocks_per_layer);
  LayerId layer = 0;
  for (const BlockSet& wanted : scheduler.final_sets()) {
    belady.add(layer, wanted);
    layer = (layer + 1) % spec.layers;
  }
  result.belady_misses = belady.misses(spec.slots, 0, /*warm_start=*/true);
  return result;
}

struct WorldOfRun {
  const std::string& name;
  const backend::WorldSpec& spec;
  backend::Backend& backend;
  bool follows_platform;
};

// Carries the run out and meters it; with a log, writes down what happens.
CellResult carry_out(const Cell& cell, const model::Activations& activations,
                     scheduler::Scheduler& scheduler, const WorldOfRun& world,
                     const std::string& log) {
  // A device that is no model has slowed down already when it was too hot.
  energy::Meter meter(world.spec, world.follows_platform && world.spec.heat.throttle);
  energy::MeteredBackend metered(world.backend, meter);
  const auto result = [&] {
    CellResult all = result_of(cell, scheduler);
    all.assumed = assumed_figures(cell, world.follows_platform);
    all.stretches = meter.stretches();
    all.peak = meter.peak();
    return all;
  };
  if (log.empty()) {
    backend::run(scheduler, metered);
    return result();
  }
  // Of a model that computes live nothing makes the scores again.
  backend::LogWriter writer(log, log_header(cell, activations, world.name).dump(),
                            cell.live ? backend::KeepScores::whole : backend::KeepScores::hash);
  backend::RecordingBackend recording(metered, writer);
  backend::run(scheduler, recording);
  CellResult ended = result();
  writer.finish(log_end(cell, ended, recording.completions_hash()));
  return ended;
}

// What a controller that knows the future has found in simulation; whatever world runs it then.
PlanSequence search(const Cell& cell, std::int32_t runs) {
  const auto decode_time = [&](const PlanSequence& sequence) {
    const ChildOutcome run = in_child([&] {
      const CellPolicies policies(cell, *cell.trace, sequence);
      scheduler::Scheduler scheduler(cell.run_spec(), policies.view());
      backend::run(scheduler, *backend::make_world("sim", world_spec(cell, policies, "")));
      const auto& m = scheduler.metrics();
      return std::to_string(scheduler.failure().empty() ? m.end_ns - m.prefill_end_ns : kNever);
    });
    if (!run.ended) throw UserError("the search for plans: {}", run.text);
    return static_cast<TimeNs>(std::stoll(run.text));
  };
  return search_plans(cell.tokens - cell.prompt_tokens, cell.model.shape.layers, runs, decode_time);
}

}  // namespace

CellPolicies::CellPolicies(const Cell& cell, const model::Activations& activations,
                           std::span<const policy::StagePlan> sequence)
    : activations_(activations) {
  const auto spec = cell.run_spec();
  const BlockId blocks = spec.geometry.blocks_per_layer;
  predictor_ = cell.system.predictor.make({&activations, cell.spec.experiment.seed});
  controller_ =
      cell.system.controller.make({spec.layers, blocks, spec.geometry.block_neurons, sequence});
  loader_ = cell.system.loader.make(
      {spec.geometry.block_bytes, request_bytes(cell.platform.platform.flash)});
  if (!cell.live) future_ = std::make_unique<scheduler::FutureSets>(spec, view());
  cache_ =
      cell.system.cache.make({spec.layers, blocks, spec.slots, spec.prompt_tokens, future_.get()});
}

scheduler::Policies CellPolicies::view() const {
  return {predictor_.get(), cache_.get(), controller_.get(), loader_.get(), &activations_};
}

std::string case_of(const Cell& cell) {
  std::string text;
  for (const auto& [name, value] : cell.spec.swept) {
    if (name != "system") text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string label(const Cell& cell) {
  const std::string others = case_of(cell);
  return cell.system.name + (others.empty() ? "" : ", " + others);
}

scheduler::RunSpec Cell::run_spec() const {
  const Experiment& e = spec.experiment;
  scheduler::RunSpec run;
  run.layers = model.shape.layers;
  run.geometry = geometry;
  run.placement = placement.get();
  // More than every block and two stream buffers is never used.
  const Bytes most =
      static_cast<Bytes>(run.layers + 2) * static_cast<Bytes>(geometry.blocks_per_layer);
  run.slots = static_cast<SlotId>(std::min(budget_bytes / geometry.block_bytes, most));
  run.prompt_tokens = prompt_tokens;
  run.tokens = tokens;
  if (live) run.end_token = live->end_token;
  run.density = density;
  run.select = e.select;
  system.apply(run);
  run.queue_depth = platform.platform.flash.lane_depth(run.io_lanes);
  run.prefill_merge_blocks =
      static_cast<BlockId>(std::max<Bytes>(1, kPrefillReadBytes / geometry.block_bytes));
  run.stall_timeout_ns = e.stall_timeout_ns;
  return run;
}

backend::WorldSpec world_spec(const Cell& cell, const CellPolicies& policies,
                              const std::string& log) {
  backend::WorldSpec world;
  world.platform = &cell.platform.platform;
  world.shape = cell.model.shape;
  world.geometry = cell.geometry;
  world.synchronisation = cell.system.synchronisation;
  world.prediction = cell.prediction;
  world.predictor = &policies.predictor();
  const std::uint64_t seed = cell.spec.experiment.seed;
  world.seed = cell.repetition == 0 ? seed : mix(seed, cell.repetition);
  world.fidelity = cell.spec.experiment.fidelity;
  world.faults = cell.spec.experiment.faults.plan();
  world.heat = cell.spec.experiment.thermal;
  world.log = log;
  const auto run = cell.run_spec();
  world.placement = run.placement;
  world.slots = run.slots;
  world.io_lanes = run.io_lanes;
  world.queue_depth = run.queue_depth;
  world.tokens = run.tokens;
  if (cell.live) {
    world.token_ids = cell.live->ids;
    world.sampling = cell.spec.experiment.sampling;
    world.keep_nll = cell.live->is_text();
  } else {
    world.token_ids = cell.trace->token_ids().first(static_cast<std::size_t>(run.tokens));
  }
  world.hardware = &cell.spec.experiment.hardware;
  return world;
}

CellResult run_cell(const Cell& cell, const std::string& backend_name, const LogPaths& logs,
                    const OnText& on_text) {
  const auto from = std::chrono::steady_clock::now();
  CellActivations source(cell);
  if (logs.play.empty()) source.prepare(on_text);
  const model::Activations& activations = source.view();
  PlanSequence sequence;
  std::optional<CellPolicies> policies(std::in_place, cell, activations);
  if (const std::int32_t runs = policies->controller().search_runs(); runs > 0) {
    sequence = search(cell, runs);
    policies.emplace(cell, activations, sequence);
  }
  scheduler::Scheduler scheduler(cell.run_spec(), policies->view());
  auto world = world_spec(cell, *policies, logs.play);
  world.observer = source.observer();
  const auto backend = backend::make_world(backend_name, world);
  const bool follows =
      logs.play.empty() ? backend::follows_platform(backend_name) : log_follows_platform(logs.play);
  CellResult result;
  try {
    result = carry_out(cell, activations, scheduler, {backend_name, world, *backend, follows},
                       logs.record);
    const std::string others = logs.play.empty() ? "" : results_difference(logs.play, cell, result);
    if (!others.empty()) result.failure = others;
  } catch (const backend::ReplayDiffers& differs) {
    result.failure = differs.what() + other_writer(logs.play);
  }
  result.facts = backend->facts();
  source.add_to(result);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  result.wall_s = wall.count();
  return result;
}

}  // namespace leanstream::run
