// What is measured of each kind of device. The names and parameters of samples are made here too,
// so that who fits them asks for the same.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "platforms/probe/plan.h"
#include "platforms/probe/probe.h"

namespace leanstream::probe {

// Names of what is measured.
inline constexpr const char* kStorage = "storage";        // rate, p50, p99, cpu: of bursts
inline constexpr const char* kMix = "mix";                // the same of requests of two sizes
inline constexpr const char* kPieces = "pieces";          // of requests into many places
inline constexpr const char* kMerged = "merged";          // of neighbours as requests of their own
inline constexpr const char* kPauses = "pauses";          // every, length: of transfers; 0: none
inline constexpr const char* kDevice = "device";          // alignment
inline constexpr const char* kMemory = "memory";          // rate: threads that read a large buffer
inline constexpr const char* kDecode = "decode";          // attention, mlp, head, and their work
inline constexpr const char* kPrefill = "prefill";        // attention, mlp
inline constexpr const char* kStart = "start";            // time: there and back
inline constexpr const char* kWakeUp = "wake_up";         // time
inline constexpr const char* kHandOver = "hand_over";     // time
inline constexpr const char* kStep = "step";              // time
inline constexpr const char* kPrediction = "prediction";  // time

std::string read_parameters(Bytes bytes, std::int32_t together);
std::string mix_parameters(const Plan& plan, std::int32_t together);
std::string pieces_parameters(const Plan& plan, std::int32_t together);
std::string merged_parameters(const Plan& plan, std::int32_t together);
std::string pauses_parameters(const Plan& plan);
std::string memory_parameters(bool all_processors);
// The order of a layer's blocks in memory, as they are released.
enum class Order : std::uint8_t { random, memory };
std::string decode_parameters(const Shape& shape, backend::Synchronisation synchronisation,
                              int segments, double share, Order order);
std::string shape_parameters(const Shape& shape);
std::string idle_parameters(TimeNs idle_ns);

// Bytes of a layer's prediction at the reference shape of the LeanStream paper's Table 6.
struct PredictionSize {
  const char* name;  // as in a platform's `predictors`
  Bytes all_bytes;   // of all layers
  std::int32_t hidden, ffn, layers;
};
inline constexpr PredictionSize kPredictions[] = {{"stacked_hash", 24'000'000, 4096, 14336, 32},
                                                  {"low_rank_mlp", 1'400'000'000, 4096, 14336, 32}};
std::string prediction_parameters(const PredictionSize& size);

// The file that a repetition reads from; called only when something is read.
using PathOf = std::function<std::string(int repetition)>;

Group storage_probes(const Plan& plan, const PathOf& path);
Group memory_probes(const Plan& plan);
// A group for each shape.
std::vector<Group> accelerator_probes(const Plan& plan, const PathOf& path);
Group wake_up_probes(const Plan& plan, const PathOf& path);
Group step_probes(const Plan& plan);
Group prediction_probes(const Plan& plan, const PathOf& path);

// All of them.
std::vector<Group> all_probes(const Plan& plan, const PathOf& path);

// The synchronisations by their word in a platform file: flags, polling, device.
inline constexpr std::pair<backend::Synchronisation, const char*> kSynchronisations[] = {
    {backend::Synchronisation::flags, "flags"},
    {backend::Synchronisation::polling, "polling"},
    {backend::Synchronisation::device, "device"}};

// Calls f(place in kSynchronisations, segments, share, order) for every decode that is measured of
// a shape. That of memory is measured by flags alone: a jump costs the same however one waits.
template <typename F>
void for_each_decode(const Plan& plan, const F& f) {
  for (std::size_t how = 0; how < std::size(kSynchronisations); ++how) {
    const bool flags = kSynchronisations[how].first == backend::Synchronisation::flags;
    for (const int segments : plan.segments) {
      for (const double share : plan.shares) {
        f(how, segments, share, Order::random);
        if (flags) f(how, segments, share, Order::memory);
      }
    }
  }
}

}  // namespace leanstream::probe
