// Experiment files: what is run, and the lists under `sweep:` whose product is a sweep.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/world.h"
#include "engine/config/document.h"
#include "engine/config/memory_budget.h"
#include "engine/config/parameters.h"
#include "engine/policy/place/placement.h"
#include "engine/scheduler/run_spec.h"
#include "experiments/run/faults.h"

namespace leanstream::run {

// Where importance comes from.
enum class ActivationSource : std::uint8_t {
  trace,  // a recorded file
  live,   // the model itself, computed as it runs
};

struct Experiment {
  std::string name;
  std::string description;
  std::vector<std::string> notes;
  std::string platform;
  std::string model;
  std::string system;
  ActivationSource activations = ActivationSource::trace;
  std::string trace;
  std::string prompt;
  std::string text;
  bool chat = true;
  backend::Sampling sampling;
  std::int32_t audit_every = 0;
  std::string forced_sets;
  config::Node system_changes;
  config::Node platform_changes;
  config::MemoryBudget memory_budget;
  std::optional<double> bytes_per_weight, resident_bytes_per_weight;
  std::int32_t block_neurons = 1;
  policy::Registry<policy::Placement>::Choice placement = policy::default_placement();
  scheduler::Select select = scheduler::Select::blocks;
  double density = 1.0;
  std::int32_t prompt_tokens = 0;
  std::optional<std::int32_t> tokens;
  std::uint64_t seed = 1;
  backend::Fidelity fidelity = backend::Fidelity::segment;
  Faults faults;
  backend::HeatSpec thermal;
  backend::HardwareSpec hardware;
  TimeNs stall_timeout_ns = 60'000'000'000;
};

const config::Table<Experiment>& experiment_table();

// One cell of a sweep: the experiment with its swept parameters set.
struct CellSpec {
  std::vector<std::pair<std::string, std::string>> swept;  // dotted name, value as written
  Experiment experiment;
  config::Node node;  // as read, for the positions of its parameters
};

// All cells of a parsed experiment file, in the order of the lists (the last varies fastest), with
// `assignments` ("key=value" of the command line) applied first: an assignment to a swept
// parameter replaces its list. Everything that is wrong goes to `diagnostics`.
std::vector<CellSpec> expand(const config::Document& document,
                             const std::vector<std::string>& assignments,
                             config::Diagnostics& diagnostics);

}  // namespace leanstream::run
