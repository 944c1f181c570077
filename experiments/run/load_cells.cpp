// From an experiment file to cells that can run, with everything that is wrong said at its place.
#include <filesystem>
#include <map>
#include <optional>

#include "engine/base/error.h"
#include "engine/config/find_file.h"
#include "engine/scheduler/scheduler.h"
#include "experiments/run/cell.h"
#include "experiments/run/cell_activations.h"

namespace leanstream::run {
namespace {

using config::Diagnostics;
using config::FileKind;
using config::Node;

// Where a path of the experiment leads: from here, from the experiment's folder, or from the data
// root; "" when nowhere.
std::string resolve(const std::string& name, const std::string& experiment_path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(experiment_path).parent_path();
  for (const fs::path& path :
       {fs::path(name), folder / name, config::data_root() / fs::path(name)}) {
    if (fs::exists(path)) return path.string();
  }
  return "";
}

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

void check_trace(const Cell& cell, Diagnostics& diagnostics) {
  const Node& node = cell.spec.node;
  const auto& shape = cell.model.shape;
  const auto& traced = cell.trace->info().model;
  if (traced.layers != shape.layers || traced.hidden != shape.hidden || traced.ffn != shape.ffn) {
    diagnostics.error(node["trace"].position(),
                      "trace {} is of {} ({} layers, hidden {}, ffn {}), not of {} ({}, {}, {})",
                      cell.trace->path(), traced.name, traced.layers, traced.hidden, traced.ffn,
                      shape.name, shape.layers, shape.hidden, shape.ffn);
  }
  if (!cell.live && cell.tokens > cell.trace->tokens()) {
    diagnostics.error(node["tokens"].position(), "trace {} has {} tokens, not {}",
                      cell.trace->path(), cell.trace->tokens(), cell.tokens);
  }
}

class Loader {
 public:
  // With errors already reported it still looks at what the cells name, but not whether it fits.
  Loader(const std::string& path, const std::string& log, Diagnostics& diagnostics)
      : path_(path), log_(log), diagnostics_(diagnostics), sound_(diagnostics.empty()) {}

  Cell load(const CellSpec& spec) {
    Cell cell;
    cell.spec = spec;
    const auto before = diagnostics_.count();
    load_files(cell);
    if (sound_ && readable_ && diagnostics_.count() == before) fit(cell);
    return cell;
  }

 private:
  // Calls `work` and reports the UserError it may throw at the parameter it comes from.
  template <typename Work>
  void at(const Node& node, Work work) {
    if (!node) return;  // reported as missing
    try {
      work();
    } catch (const UserError& error) {
      diagnostics_.error(node.position(), std::string(error.what()));
    }
  }

  const config::Document& document(FileKind kind, const std::string& name) {
    std::string path = config::find_file(kind, name);
    if (path == name && !resolve(name, path_).empty()) path = resolve(name, path_);
    const auto [entry, is_new] = documents_.try_emplace(path);
    if (is_new) entry->second = config::load_document(path, diagnostics_);
    readable_ = readable_ && entry->second.root;  // reported once, when it was new
    return entry->second;
  }

  void load_files(Cell& cell) {
    const Experiment& e = cell.spec.experiment;
    const Node& node = cell.spec.node;
    at(node["model"],
       [&] { cell.model = model::read_model(document(FileKind::model, e.model), diagnostics_); });
    at(node["platform"], [&] {
      cell.platform = platform::read_platform(document(FileKind::platform, e.platform),
                                              e.platform_changes, diagnostics_);
    });
    at(node["system"], [&] {
      cell.system =
          read_system(document(FileKind::system, e.system), e.system_changes, diagnostics_);
    });
    at(node["trace"], [&] {
      auto& trace = traces_[e.trace];
      const std::string path = resolve(e.trace, path_);
      if (path.empty()) {
        throw UserError("no trace {} here, beside {}, or in {}", e.trace, path_,
                        config::data_root());
      }
      if (!trace) trace = std::make_shared<traces::Trace>(path);
      cell.trace = trace;
    });
  }

  // Everything is there; does it fit together?
  void fit(Cell& cell) {
    const Experiment& e = cell.spec.experiment;
    const Node& node = cell.spec.node;
    auto& shape = cell.model.shape;
    const auto before = diagnostics_.count();
    if (e.bytes_per_weight) shape.bytes_per_weight = *e.bytes_per_weight;
    shape.resident_bytes_per_weight = e.resident_bytes_per_weight;
    set_tokens(cell);
    if (diagnostics_.count() != before) return;
    cell.density = cell.system.density.value_or(e.density);
    if (cell.trace) check_trace(cell, diagnostics_);
    if (cell.prompt_tokens >= cell.tokens) {
      const Node where = node[e.prompt.empty() ? "prompt_tokens" : "prompt"];
      diagnostics_.error(where.position(), "a prompt of {} of {} tokens leaves nothing to decode",
                         cell.prompt_tokens, cell.tokens);
    }
    if (e.block_neurons > shape.ffn) {
      diagnostics_.error(node["block_neurons"].position(),
                         "{} is more than the {} neurons of a layer", e.block_neurons, shape.ffn);
    }
    if (diagnostics_.count() != before) return;
    cell.geometry = model::cut_into_blocks(shape, e.block_neurons,
                                           cell.platform.platform.flash.logical_block_bytes);
    // In a budget, "mlp" is what its blocks take in memory, padding included: 100 % holds them all.
    const double mlp_bytes = static_cast<double>(cell.geometry.block_bytes) *
                             cell.geometry.blocks_per_layer * shape.layers;
    cell.budget_bytes = e.memory_budget.resolve(mlp_bytes, mlp_bytes + shape.resident_bytes());
    charge_predictions(cell);
    place(cell);
    if (diagnostics_.count() != before) return;
    const CellActivations activations(cell);
    std::optional<CellPolicies> policies;
    at(node["system"], [&] {
      policies.emplace(cell, activations.view());
      if (cell.live && policies->controller().search_runs() > 0) {
        throw UserError("controller {}: it needs a recorded future; use it with a trace",
                        cell.system.controller.name);
      }
    });
    at(node["memory_budget"], [&] {
      if (!policies) return;
      try {
        scheduler::check_budget(cell.run_spec(), policies->view());
      } catch (const UserError& error) {
        throw UserError("system {}: {}", cell.system.name, error.what());
      }
    });
  }

  void set_tokens(Cell& cell) {
    const Experiment& e = cell.spec.experiment;
    if (e.activations == ActivationSource::trace) {
      cell.prompt_tokens = e.prompt_tokens;
      cell.tokens = e.tokens.value_or(cell.trace->tokens());
      return;
    }
    at(cell.spec.node["activations"], [&] {
      const std::string text = e.text.empty() ? "" : resolve(e.text, path_);
      if (!log_.empty()) {
        cell.live = logged_live_input(log_, cell.model.shape);
      } else if (text.empty() && !e.text.empty()) {
        throw UserError("no text {} here, beside {}, or in {}", e.text, path_, config::data_root());
      } else {
        cell.live = read_live_input(e, text, cell.model.shape);
      }
      cell.prompt_tokens = cell.live->prompt_tokens;
      cell.tokens = cell.live->tokens;
    });
  }

  // Cells that fit the same placement on the same tokens share it.
  void place(Cell& cell) {
    const Experiment& e = cell.spec.experiment;
    const Node node = cell.spec.node["placement"];
    // What the experiment says goes before what its system would choose.
    const bool of_system = !node && cell.system.placement;
    const auto& choice = of_system ? *cell.system.placement : e.placement;
    const auto& shape = cell.model.shape;
    const std::string key = fmt::format("{} {} {} {} {}", choice.resolved.dump(), e.trace,
                                        cell.prompt_tokens, cell.density, shape.name);
    auto& placement = placements_[key];
    at(node ? node : cell.spec.node[of_system ? "system" : "model"], [&] {
      if (policy::fitted_in_run(choice.name) && !cell.trace) {
        throw UserError("system {}: placement {} is fitted on a recording: name it ('trace')",
                        cell.system.name, choice.name);
      }
      if (!placement) {
        placement = choice.make({cell.trace.get(), cell.prompt_tokens, cell.density, shape.layers,
                                 shape.ffn, cell.trace ? cell.trace->info().model.hash : "",
                                 [this](const std::string& name) {
                                   const std::string found = resolve(name, path_);
                                   return found.empty() ? name : found;
                                 }});
      }
      cell.placement = placement;
    });
  }

  std::string path_;
  std::string log_;
  Diagnostics& diagnostics_;
  bool sound_;
  bool readable_ = true;  // every file so far
  std::map<std::string, config::Document> documents_;
  std::map<std::string, std::shared_ptr<const traces::Trace>> traces_;
  std::map<std::string, std::shared_ptr<const policy::Placement>> placements_;
};

}  // namespace

std::vector<Cell> load_cells(const config::Document& document,
                             const std::vector<std::string>& assignments, Diagnostics& diagnostics,
                             const std::string& log) {
  const auto specs = expand(document, assignments, diagnostics);
  std::vector<Cell> cells;
  Loader loader(document.path, log, diagnostics);
  for (const auto& spec : specs) cells.push_back(loader.load(spec));
  return cells;
}

}  // namespace leanstream::run
