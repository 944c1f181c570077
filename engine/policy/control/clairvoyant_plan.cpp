#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

struct ClairvoyantParameters {
  std::int32_t runs = 120;
};

// A plan for every layer of every token, found by running the very same trace in simulation again
// and again (coordinate descent, experiments/run/plan_search.h): a bound for controllers that
// must decide without knowing the future, not proven optimal.
class ClairvoyantPlan final : public Controller {
 public:
  using Parameters = ClairvoyantParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("runs", &Parameters::runs, "simulated runs that the search may take")
            .range(1, 100'000)};
    return parameters;
  }

  ClairvoyantPlan(const Context& context, const Parameters& parameters)
      : sequence_(context.sequence), runs_(parameters.runs) {}

  Plan plan(const ControlState& state) const override {
    Plan plan;
    const auto step = static_cast<std::size_t>(state.step);
    if (step < sequence_.size()) plan.stage[0] = sequence_[step];
    return plan;
  }
  Plan coarsest() const override { return {}; }
  std::int32_t search_runs() const override { return runs_; }

 private:
  std::span<const StagePlan> sequence_;
  std::int32_t runs_;
};

}  // namespace

LEANSTREAM_CONTROLLER(
    ClairvoyantPlan, "clairvoyant_plan",
    "a plan for each layer of each token, searched with the trace known (a bound)")

}  // namespace leanstream::policy
