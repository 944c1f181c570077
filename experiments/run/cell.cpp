#include "experiments/run/cell.h"

#include <chrono>
#include <filesystem>
#include <map>

#include "engine/backend/run_loop.h"
#include "engine/base/error.h"
#include "engine/config/find_file.h"
#include "engine/scheduler/belady.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::run {
namespace {

constexpr Bytes kPrefillReadBytes = Bytes{1} << 20;  // one request of prefill

// The policies of a run, made and owned.
struct OwnedPolicies {
  std::unique_ptr<policy::Predictor> predictor;
  std::unique_ptr<policy::CachePolicy> cache;
  std::unique_ptr<policy::Controller> controller;
  std::unique_ptr<policy::Loader> loader;

  OwnedPolicies(const Cell& cell, const scheduler::RunSpec& spec)
      : predictor(cell.system.predictor.make({cell.trace.get(), cell.spec.experiment.seed})),
        cache(cell.system.cache.make(
            {spec.layers, spec.geometry.blocks_per_layer, spec.slots, spec.prompt_tokens})),
        controller(cell.system.controller.make({spec.layers, spec.geometry.blocks_per_layer})),
        loader(cell.system.loader.make({spec.geometry.block_bytes})) {}

  scheduler::Policies view(const Cell& cell) const {
    return {predictor.get(), cache.get(), controller.get(), loader.get(), cell.trace.get()};
  }
};

std::string find_trace(const std::string& name, const std::string& experiment_path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(experiment_path).parent_path();
  for (const fs::path& path :
       {fs::path(name), folder / name, config::data_root() / fs::path(name)}) {
    if (fs::exists(path)) return path.string();
  }
  throw UserError("trace {}: no such file, here, beside {}, or in {}", name, experiment_path,
                  config::data_root());
}

// Opens each file once.
class Files {
 public:
  std::shared_ptr<const traces::Trace> trace(const std::string& path) {
    auto& trace = traces_[path];
    if (!trace) trace = std::make_shared<traces::Trace>(path);
    return trace;
  }

 private:
  std::map<std::string, std::shared_ptr<const traces::Trace>> traces_;
};

// Scaled from the shape at which it was measured by hidden · ffn.
void charge_predictions(Cell& cell) {
  if (cell.system.predict_cost == CostLike::nothing) return;
  const auto& platform = cell.platform.platform;
  const platform::PredictorCost& cost = cell.system.predict_cost == CostLike::stacked_hash
                                            ? platform.predictors.stacked_hash
                                            : platform.predictors.low_rank_mlp;
  const auto& shape = cell.model.shape;
  const double scale =
      static_cast<double>(shape.hidden) * shape.ffn / (static_cast<double>(cost.hidden) * cost.ffn);
  const double layer_bytes = static_cast<double>(cost.bytes) / cost.layers * scale;
  cell.prediction.time_ns = static_cast<TimeNs>(static_cast<double>(cost.time_ns) * scale + 0.5);
  cell.prediction.bytes = static_cast<Bytes>(layer_bytes + 0.5);
  cell.predictor_bytes = static_cast<Bytes>(layer_bytes * shape.layers + 0.5);
}

void check_trace(const Cell& cell) {
  const auto& shape = cell.model.shape;
  const auto& traced = cell.trace->info().model;
  if (traced.layers != shape.layers || traced.hidden != shape.hidden || traced.ffn != shape.ffn) {
    throw UserError("trace {} is of {} ({} layers, hidden {}, ffn {}), not of {} ({}, {}, {})",
                    cell.trace->path(), traced.name, traced.layers, traced.hidden, traced.ffn,
                    shape.name, shape.layers, shape.hidden, shape.ffn);
  }
  const auto& e = cell.spec.experiment;
  if (cell.tokens > cell.trace->tokens() || e.prompt_tokens >= cell.tokens) {
    throw UserError("trace {} has {} tokens; {} tokens with a prompt of {} leave nothing to decode",
                    cell.trace->path(), cell.trace->tokens(), cell.tokens, e.prompt_tokens);
  }
}

Cell load_cell(const CellSpec& spec, const std::string& experiment_path, Files& files,
               config::Diagnostics& diagnostics) {
  const Experiment& e = spec.experiment;
  Cell cell;
  cell.spec = spec;
  cell.model = model::load_model(e.model);
  if (e.bytes_per_weight) cell.model.shape.bytes_per_weight = *e.bytes_per_weight;
  cell.platform = platform::load_platform(e.platform, e.platform_changes);
  cell.system = load_system(e.system, e.system_changes, diagnostics);
  if (!diagnostics.empty()) return cell;
  cell.trace = files.trace(find_trace(e.trace, experiment_path));
  cell.tokens = e.tokens.value_or(cell.trace->tokens());
  cell.density = cell.system.density.value_or(e.density);
  check_trace(cell);
  const auto& shape = cell.model.shape;
  if (e.block_neurons > shape.ffn) {
    throw UserError("block_neurons {} is more than the {} neurons of a layer", e.block_neurons,
                    shape.ffn);
  }
  cell.geometry = model::cut_into_blocks(shape, e.block_neurons,
                                         cell.platform.platform.flash.logical_block_bytes);
  // In a budget, "mlp" is what its blocks take in memory, padding included: 100 % holds them all.
  const double mlp_bytes = static_cast<double>(cell.geometry.block_bytes) *
                           cell.geometry.blocks_per_layer * shape.layers;
  cell.budget_bytes = e.memory_budget.resolve(mlp_bytes, mlp_bytes + shape.resident_bytes());
  charge_predictions(cell);
  const auto run = cell.run_spec();
  const OwnedPolicies policies(cell, run);
  scheduler::Scheduler(run, policies.view(cell));  // refuses a budget that is too small
  return cell;
}

}  // namespace

scheduler::RunSpec Cell::run_spec() const {
  const Experiment& e = spec.experiment;
  scheduler::RunSpec run;
  run.layers = model.shape.layers;
  run.geometry = geometry;
  // More than every block and two stream buffers is never used.
  const Bytes most =
      static_cast<Bytes>(run.layers + 2) * static_cast<Bytes>(geometry.blocks_per_layer);
  run.slots = static_cast<SlotId>(std::min(budget_bytes / geometry.block_bytes, most));
  run.prompt_tokens = e.prompt_tokens;
  run.tokens = tokens;
  run.density = density;
  run.select = e.select;
  run.final_at = system.final_at;
  run.refine = system.refine;
  run.compute_order = system.compute_order;
  run.queue_depth = platform.platform.flash.queue_depth;
  run.prefill_merge_blocks =
      static_cast<BlockId>(std::max<Bytes>(1, kPrefillReadBytes / geometry.block_bytes));
  run.stall_timeout_ns = e.stall_timeout_ns;
  return run;
}

std::vector<Cell> load_cells(const std::string& path, const std::vector<std::string>& assignments) {
  config::Diagnostics diagnostics;
  const auto document = config::load_document(path, diagnostics);
  const auto specs = expand(document, assignments, diagnostics);
  diagnostics.throw_if_any();
  std::vector<Cell> cells;
  Files files;
  std::vector<std::string> problems;  // without repetitions, in order
  for (const auto& spec : specs) {
    try {
      cells.push_back(load_cell(spec, path, files, diagnostics));
    } catch (const UserError& error) {
      const std::string problem = error.what();
      if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
        problems.push_back(problem);
      }
    }
  }
  if (!diagnostics.empty()) problems.push_back(diagnostics.text());
  if (!problems.empty()) throw UserError("{}: {}", path, fmt::join(problems, "\n"));
  return cells;
}

CellResult run_cell(const Cell& cell, const std::string& backend_name) {
  const auto from = std::chrono::steady_clock::now();
  const auto spec = cell.run_spec();
  const OwnedPolicies policies(cell, spec);
  scheduler::Scheduler scheduler(spec, policies.view(cell));
  backend::WorldSpec world;
  world.platform = &cell.platform.platform;
  world.shape = cell.model.shape;
  world.geometry = cell.geometry;
  world.synchronisation = cell.system.synchronisation;
  world.prediction = cell.prediction;
  world.predictor = policies.predictor.get();
  world.seed = cell.spec.experiment.seed;
  const auto backend = backend::make_world(backend_name, world);
  backend::run(scheduler, *backend);

  CellResult result;
  result.metrics = scheduler.metrics();
  result.commands_hash = scheduler.commands_hash();
  result.failure = scheduler.failure();
  scheduler::BeladyBound belady(spec.layers, spec.geometry.blocks_per_layer);
  for (const auto& [layer, wanted] : scheduler.final_sets()) belady.add(layer, wanted);
  result.belady_misses = belady.misses(spec.slots, 0, /*warm_start=*/true);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  result.wall_s = wall.count();
  return result;
}

}  // namespace leanstream::run
