#include <algorithm>

#include "engine/base/error.h"
#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

struct StaticParameters {
  std::vector<std::int32_t> omega_io{1};
  std::vector<std::int32_t> omega_gpu{1};
};

// One plan for every layer and state. Lists give one value for each logical stage of a layer.
class Static final : public Controller {
 public:
  using Parameters = StaticParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::list("omega_io", &Parameters::omega_io,
                     "I/O segments of a layer, or of each of its plan stages")
            .range(1, 256),
        config::list("omega_gpu", &Parameters::omega_gpu,
                     "accelerator segments of a layer, or of each of its plan stages")
            .range(1, 256)};
    return parameters;
  }

  Static(const Context&, const Parameters& parameters) {
    const std::size_t stages = parameters.omega_io.size();
    if (stages != parameters.omega_gpu.size() || stages < 1 || stages > kMostPlanStages) {
      throw UserError(
          "controller static: omega_io has {} plan stages and omega_gpu {}; both need the same "
          "number, 1 to {}",
          stages, parameters.omega_gpu.size(), kMostPlanStages);
    }
    plan_.stages = static_cast<std::int32_t>(stages);
    for (std::size_t s = 0; s < stages; ++s) {
      plan_.stage[s] = {parameters.omega_io[s], parameters.omega_gpu[s]};
    }
  }

  Plan plan(const ControlState&) const override { return plan_; }
  Plan coarsest() const override { return plan_; }

 private:
  Plan plan_;
};

}  // namespace

LEANSTREAM_CONTROLLER(Static, "static", "one plan for every layer and state")

}  // namespace leanstream::policy
