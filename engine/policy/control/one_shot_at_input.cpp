#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

// Predicts once, at the layer's own input, and reads nothing before ("predicts the weight only once
// at the input of layer", the other reading of the paper's "One Shot").
class OneShotAtInput final : public Controller {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  OneShotAtInput(const Context&, const Parameters&) {}

  Plan plan(const ControlState&) const override { return {}; }
  Plan coarsest() const override { return {}; }
  Predicts predicts() const override { return Predicts::one_shot_at_input; }
};

}  // namespace

LEANSTREAM_CONTROLLER(OneShotAtInput, "one_shot_at_input",
                      "one prediction, from the layer's own input; nothing ahead, no segments")

}  // namespace leanstream::policy
