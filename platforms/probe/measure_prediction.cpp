// Products of as many bytes as the predictors of the paper read, on the thread that predicts.
#include <memory>

#include "engine/base/median.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/hardware/prediction_unit.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using hardware::steady_ns;

class NoPredictor final : public policy::Predictor {
 public:
  void predict(TokenId, LayerId, std::int32_t, std::span<std::uint8_t>) const override {}
};

// From the command until its end is seen; the median.
double prediction_s(const PredictionSize& size, int times) {
  const NoPredictor predictor;
  backend::WorldSpec spec;
  spec.shape.hidden = size.hidden;
  spec.shape.ffn = size.ffn;
  spec.prediction.bytes = size.all_bytes / static_cast<Bytes>(size.layers);
  spec.predictor = &predictor;
  hardware::PredictionUnit unit(spec, [] {});
  std::vector<double> all;
  for (int i = 1; i <= times; ++i) {
    const TimeNs from_ns = steady_ns();
    unit.submit({.ticket = static_cast<TicketId>(i), .kind = scheduler::CommandKind::predict});
    TicketId ticket = 0;
    std::span<const std::uint8_t> codes;
    while (!unit.poll(ticket, codes)) {
    }
    all.push_back(seconds(steady_ns() - from_ns));
  }
  return median(std::move(all));
}

}  // namespace

Group prediction_probes(const Plan& plan) {
  Group group;
  for (const PredictionSize& size : kPredictions) {
    group.push_back(
        {kPrediction, prediction_parameters(size), {{"time", "s"}}, [&size, &plan](int) {
           return std::vector<double>{prediction_s(size, plan.predictions)};
         }});
  }
  return group;
}

}  // namespace leanstream::probe
