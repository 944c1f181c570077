#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

// One plan for every layer and state.
class Static final : public Controller {
 public:
  using Parameters = Plan;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("omega_io", &Plan::omega_io, "I/O segments of a layer").range(1, 256),
        config::integer("omega_gpu", &Plan::omega_gpu, "accelerator segments of a layer")
            .range(1, 256)};
    return parameters;
  }

  Static(const Context&, const Parameters& plan) : plan_(plan) {}

  Plan plan(const ControlState&) const override { return plan_; }
  Plan coarsest() const override { return plan_; }

 private:
  Plan plan_;
};

}  // namespace

LEANSTREAM_CONTROLLER(Static, "static", "one plan for every layer and state")

}  // namespace leanstream::policy
