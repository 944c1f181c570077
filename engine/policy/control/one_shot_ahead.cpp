#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

// Predicts once, a layer ahead, and cuts nothing into segments (the paper's "One Shot").
class OneShotAhead final : public Controller {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  OneShotAhead(const Context&, const Parameters&) {}

  Plan plan(const ControlState&) const override { return {}; }
  Plan coarsest() const override { return {}; }
  Predicts predicts() const override { return Predicts::one_shot_ahead; }
};

}  // namespace

LEANSTREAM_CONTROLLER(OneShotAhead, "one_shot_ahead",
                      "one prediction, from the input of the layer before; no segments")

}  // namespace leanstream::policy
