// System files: which policies make up a system that is compared (experiments/systems/*.yaml). No
// C++ knows the systems' names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "engine/config/document.h"
#include "engine/config/parameters.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/control/controller.h"
#include "engine/policy/load/loader.h"
#include "engine/policy/place/placement.h"
#include "engine/policy/predict/predictor.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::run {

// The predictor whose cost a prediction is charged.
enum class CostLike : std::uint8_t { nothing, stacked_hash, low_rank_mlp };

using PlacementChoice = policy::Registry<policy::Placement>::Choice;

struct SystemSpec {
  std::string name;  // that of the file
  std::string description;
  std::vector<std::string> notes;  // for the report: what is not modelled, what stands in
  policy::Registry<policy::Predictor>::Choice predictor;
  policy::Registry<policy::CachePolicy>::Choice cache;
  policy::Registry<policy::Controller>::Choice controller;
  policy::Registry<policy::Loader>::Choice loader;
  CostLike predict_cost = CostLike::nothing;
  scheduler::FinalAt final_at = scheduler::FinalAt::residual;
  bool refine = false;
  scheduler::ComputeOrder compute_order = scheduler::ComputeOrder::flash;
  scheduler::LayerZero layer0 = scheduler::LayerZero::previous_token;
  scheduler::PrefetchLimit prefetch_limit = scheduler::PrefetchLimit::plan;
  scheduler::PrefetchCancel prefetch_cancel = scheduler::PrefetchCancel::none;
  scheduler::IoSegmentSync io_segment_sync = scheduler::IoSegmentSync::barrier;
  scheduler::Publish publish = scheduler::Publish::segment;
  scheduler::Scope scope = scheduler::Scope::shared;
  std::int32_t io_lanes = 1;
  backend::Synchronisation synchronisation = backend::Synchronisation::device;
  std::optional<PlacementChoice> placement;  // where the experiment states none
  std::optional<double> density;  // of this system, whatever the experiment says (dense: 1)

  // Sets the system's rules in a run.
  void apply(scheduler::RunSpec& run) const;
};

const config::Table<SystemSpec>& system_table();

// Reads a parsed system file with `changes` (a map like the file's) laid over it. Never throws.
SystemSpec read_system(const config::Document& document, const config::Node& changes,
                       config::Diagnostics& diagnostics);

}  // namespace leanstream::run
