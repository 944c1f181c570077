// Products of as many bytes as the predictors of the paper read, on the thread that predicts.
#include <chrono>
#include <memory>
#include <thread>

#include "engine/base/median.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/hardware/prediction_unit.h"
#include "engine/hardware/storage/storage.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using hardware::steady_ns;

constexpr Bytes kLayersBytes = Bytes{128} << 20;

class NoPredictor final : public policy::Predictor {
 public:
  void predict(TokenId, LayerId, std::int32_t, std::span<std::uint8_t>) const override {}
};

// From the command until its end is seen, after a sleep where that is more than 0; the median.
// `wait` is called between two looks.
template <typename Wait>
double trip_s(hardware::PredictionUnit& unit, LayerId layers, TimeNs idle_ns, int times,
              const Wait& wait) {
  std::vector<double> all;
  for (int i = 1; i <= times; ++i) {
    if (idle_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(idle_ns));
    const TimeNs from_ns = steady_ns();
    unit.submit({.ticket = static_cast<TicketId>(i),
                 .kind = scheduler::CommandKind::predict,
                 .layer = i % layers});
    TicketId ticket = 0;
    std::span<const std::uint8_t> codes;
    while (!unit.poll(ticket, codes)) wait();
    all.push_back(seconds(steady_ns() - from_ns));
  }
  return median(std::move(all));
}

// Of a caller that looks without a pause.
double prediction_s(const PredictionSize& size, const Plan& plan) {
  const NoPredictor predictor;
  backend::WorldSpec spec;
  spec.shape.hidden = size.hidden;
  spec.shape.ffn = size.ffn;
  spec.prediction.bytes = size.all_bytes / static_cast<Bytes>(size.layers);
  spec.predictor = &predictor;
  // As many layers as make the weights larger than caches.
  spec.shape.layers = static_cast<LayerId>(1 + kLayersBytes / spec.prediction.bytes);
  hardware::PredictionUnit unit(spec, plan.processors.accelerator, [] {});
  return trip_s(unit, spec.shape.layers, 0, plan.predictions, [] {});
}

// From a thread that goes to sleep in the storage to the one that predicts, and back: half of both.
// Nothing is read or computed.
double hand_over_s(const Plan& plan, const std::string& path, TimeNs idle_ns) {
  const auto storage = hardware::open_storage({.path = path, .engine = plan.engine});
  const NoPredictor predictor;
  backend::WorldSpec spec;
  spec.shape.layers = 1;
  spec.shape.hidden = spec.shape.ffn = 32;
  spec.predictor = &predictor;
  hardware::PredictionUnit unit(spec, plan.processors.predictor, [&] { storage->wake(); });
  return trip_s(unit, spec.shape.layers, idle_ns, plan.wakes, [&] { storage->wait(kNever); }) / 2;
}

}  // namespace

Group prediction_probes(const Plan& plan, const PathOf& path) {
  Group group;
  for (const TimeNs idle_ns : plan.idle_ns) {
    group.push_back(
        {kHandOver, idle_parameters(idle_ns), {{"time", "s"}}, [=, &plan](int repetition) {
           return std::vector<double>{hand_over_s(plan, path(repetition), idle_ns)};
         }});
  }
  for (const PredictionSize& size : kPredictions) {
    group.push_back(
        {kPrediction, prediction_parameters(size), {{"time", "s"}}, [&size, &plan](int) {
           return std::vector<double>{prediction_s(size, plan)};
         }});
  }
  return group;
}

}  // namespace leanstream::probe
