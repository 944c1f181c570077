// A cell: one run with everything it needs loaded and checked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "engine/energy/meter.h"
#include "engine/model/model_file.h"
#include "engine/platform/platform_file.h"
#include "engine/scheduler/metrics.h"
#include "experiments/run/experiment.h"
#include "experiments/run/live_input.h"
#include "experiments/run/system_file.h"
#include "traces/trace.h"

namespace leanstream::run {

struct Cell {
  CellSpec spec;
  SystemSpec system;
  model::LoadedModel model;
  platform::LoadedPlatform platform;
  std::shared_ptr<const traces::Trace> trace;  // null: live, and no placement needs one
  std::optional<LiveInput> live;               // activations: live
  std::shared_ptr<const policy::Placement> placement;
  model::BlockGeometry geometry;
  Bytes budget_bytes = 0;
  Bytes predictor_bytes = 0;
  backend::PredictionCharge prediction;
  TokenId prompt_tokens = 0;
  TokenId tokens = 0;
  double density = 1;
  // Which run of the same cell this is: what is chance in a world differs, no decision does.
  std::uint64_t repetition = 0;

  scheduler::RunSpec run_spec() const;
};

// What tells a cell from the others of its sweep: "leanstream, memory_budget 50% of mlp".
std::string label(const Cell& cell);
// The same without its system: what the cells that compare systems have in common.
std::string case_of(const Cell& cell);

// The policies of a cell's run, made and owned. Throws UserError when a policy cannot work with the
// cell's sizes.
class CellPolicies {
 public:
  // `activations` are the cell's. `sequence` is for a controller with search_runs() > 0. All
  // outlive this.
  CellPolicies(const Cell& cell, const model::Activations& activations,
               std::span<const policy::StagePlan> sequence = {});
  scheduler::Policies view() const;
  const policy::Predictor& predictor() const { return *predictor_; }
  const policy::Controller& controller() const { return *controller_; }

 private:
  const model::Activations& activations_;
  std::unique_ptr<policy::Predictor> predictor_;
  std::unique_ptr<policy::Future> future_;
  std::unique_ptr<policy::CachePolicy> cache_;
  std::unique_ptr<policy::Controller> controller_;
  std::unique_ptr<policy::Loader> loader_;
};

// What a run gives; metrics are of the scheduler, the rest is derived from them.
struct CellResult {
  scheduler::RunMetrics metrics;
  std::string commands_hash;
  std::string failure;                       // "" when the run reached its end
  std::int64_t belady_misses = 0;            // the fewest any on-demand cache could have had
  std::vector<energy::Stretch> stretches;    // prefill if there is one, and each decoded token
  std::optional<energy::Temperatures> peak;  // of the whole run, where it is known
  std::vector<std::string> assumed;          // figures of the platform that all this rests on
  double wall_s = 0;
  std::vector<std::pair<std::string, std::string>> facts;  // of the machine (Backend::facts)
  std::string text;                                        // answered to a live run's prompt
};

// Loads what each cell names (files are read once) and checks that it fits together: the trace is
// of the model, the prompt leaves tokens to decode, the budget lets the system proceed. Everything
// that is wrong in any cell goes to `diagnostics`; the cells are then incomplete. `log`: what a
// replay plays; a live cell is then what the log says, and needs no model.
std::vector<Cell> load_cells(const config::Document& document,
                             const std::vector<std::string>& assignments,
                             config::Diagnostics& diagnostics, const std::string& log = "");

// Completion logs of a run; "" for none.
struct LogPaths {
  std::string play;    // by the world that replays
  std::string record;  // is written
};

// What a world needs to know of the run; refers to both. `log` is what a replay plays.
backend::WorldSpec world_spec(const Cell& cell, const CellPolicies& policies,
                              const std::string& log);

// Runs a cell in the world of that name. One simulated run a process. A replay that differs from
// its log, in commands or in results, is a failed run. `on_text` (may be empty) gets the answer of
// a live run piece by piece, as it comes.
using OnText = std::function<void(const std::string& piece)>;
CellResult run_cell(const Cell& cell, const std::string& backend, const LogPaths& logs = {},
                    const OnText& on_text = {});

}  // namespace leanstream::run
