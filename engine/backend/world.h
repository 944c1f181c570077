// Which worlds there are. Each registers itself; the choice is made by name, in one place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/faults.h"
#include "engine/model/shape.h"
#include "engine/policy/predict/predictor.h"

namespace leanstream::platform {
struct Platform;
}

namespace leanstream::backend {

enum class Synchronisation : std::uint8_t { flags, polling, device };

// How finely the simulated flash is looked at.
enum class Fidelity : std::uint8_t {
  segment,  // a read command as a whole, in closed form
  request,  // every single device request
};

// What one prediction of one layer is charged: CPU time, and the bytes it reads from memory.
struct PredictionCharge {
  TimeNs time_ns = 0;
  Bytes bytes = 0;
};

// All that a world needs to know about a run. Referenced objects outlive the world.
struct WorldSpec {
  const platform::Platform* platform = nullptr;
  model::ModelShape shape;
  model::BlockGeometry geometry;
  Synchronisation synchronisation = Synchronisation::device;
  PredictionCharge prediction;
  const policy::Predictor* predictor = nullptr;
  std::uint64_t seed = 0;
  Fidelity fidelity = Fidelity::segment;
  FaultPlan faults;
  std::string log;  // replay: the completion log to play
};

using MakeWorld = std::unique_ptr<Backend> (*)(const WorldSpec& spec);

enum class NeedsLog : bool { no, yes };

// Called at program start by each world. A duplicate name is a bug.
bool register_world(const std::string& name, const std::string& help, MakeWorld make,
                    NeedsLog needs_log = NeedsLog::no);

// Throws UserError with the worlds of this build when `name` is not one of them, and when it needs
// a log and `log` names none, or the other way round.
void check_world(const std::string& name, const std::string& log = "");

// Checks and makes it.
std::unique_ptr<Backend> make_world(const std::string& name, const WorldSpec& spec);

struct WorldInfo {
  std::string name;
  std::string help;
};
std::vector<WorldInfo> worlds();

}  // namespace leanstream::backend
