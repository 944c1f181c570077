// Which worlds there are. Each registers itself; the choice is made by name, in one place.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/faults.h"
#include "engine/model/shape.h"
#include "engine/policy/place/placement.h"
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

// What a device has computed by a command that has just ended well.
struct Computed {
  // [tokens of the command, hidden] right after it; of a head the embedding of the next token [1,
  // hidden]. Empty where the device does not say.
  std::span<const float> residual{};
  std::span<const float> importance{};  // end_layer of the prompt: [tokens, ffn], model's order
  std::int32_t sampled = kNone;         // head
};

// Sees what a device computes, in the order of its commands, before the scheduler hears of it. The
// run's clock stands still meanwhile.
class Observer {
 public:
  virtual ~Observer() = default;
  // After an end_layer: the importance codes that its completion is to carry (Completion::scores),
  // until the next end_layer; else empty.
  virtual std::span<const std::uint8_t> ended(const scheduler::Command& command,
                                              const Computed& computed) = 0;
};

// How a device chooses tokens that are not given (transformer::SamplingRule).
struct Sampling {
  double temperature = 0;
  std::int32_t top_k = 0;
  double top_p = 1;
};

// Whether threads keep to processors of their own where the disk interrupts one.
enum class KeepApart : std::uint8_t { automatic, any };

// Real devices: which, and what is on them.
struct HardwareSpec {
  std::string image;                // flash image of the MLPs
  std::string weights;              // GGUF file of what stays resident; "": random weights
  std::string storage = "auto";     // how flash is read
  std::string accelerator = "cpu";  // what computes
  std::int32_t threads = 1;         // of the accelerator
  KeepApart processors = KeepApart::automatic;
  bool check_on_read = false;  // compare each block read with its checksum
};

// Of a run on a platform that says how its units warm.
struct HeatSpec {
  bool throttle = true;  // a unit that is too hot slows down, where the platform is a model
  std::optional<double> start_c;  // of all units; absent: the ambient
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
  HeatSpec heat;
  std::string log;  // replay: the completion log to play

  const policy::Placement* placement = nullptr;  // null: the model's own order
  SlotId slots = 0;                              // of the arena
  std::int32_t io_lanes = 1;                     // I/O workers
  std::int32_t queue_depth = 1;                  // of the device, for each lane
  TokenId tokens = 0;                            // of the run, the prompt included
  std::span<const std::int32_t> token_ids{};     // their vocabulary ids, as far as they are given
  Sampling sampling;                             // of the others
  bool keep_nll = false;                         // of the given ids (Completion::nll)
  // A live run: the predictor may look at what was observed. So it predicts when it is asked, with
  // the run's clock standing still; what a prediction is charged takes its time as ever.
  Observer* observer = nullptr;
  const HardwareSpec* hardware = nullptr;  // for worlds of real devices
};

using MakeWorld = std::unique_ptr<Backend> (*)(const WorldSpec& spec);
// Throws UserError when the world cannot carry the run out, as far as that can be said before it.
using CheckRun = void (*)(const WorldSpec& spec);

enum class NeedsLog : bool { no, yes };
// Where times come from: the figures of the platform file, or something else.
enum class FollowsPlatform : bool { no, yes };

// Called at program start by each world. A duplicate name is a bug.
bool register_world(const std::string& name, const std::string& help, MakeWorld make,
                    NeedsLog needs_log = NeedsLog::no, CheckRun check_run = nullptr,
                    FollowsPlatform follows = FollowsPlatform::no);

// Throws UserError with the worlds of this build when `name` is not one of them, and when it needs
// a log and `log` names none, or the other way round.
void check_world(const std::string& name, const std::string& log = "");

// Of a world that check_world knows; null when it can carry out any run.
CheckRun run_check(const std::string& name);

// Of a world that check_world knows.
bool follows_platform(const std::string& name);

// Checks and makes it.
std::unique_ptr<Backend> make_world(const std::string& name, const WorldSpec& spec);

struct WorldInfo {
  std::string name;
  std::string help;
};
std::vector<WorldInfo> worlds();

}  // namespace leanstream::backend
