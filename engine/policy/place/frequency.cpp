#include "engine/policy/place/fit.h"

namespace leanstream::policy {
namespace {

// Neurons that were used most often come first, of equal ones the lower index; so hot neurons share
// blocks with hot ones.
class Frequency final : public Placement {
 public:
  using Parameters = FitParameters;
  static const config::Table<Parameters>& table() { return FitParameters::table(); }

  Frequency(const Context& context, const Parameters& parameters) {
    const TokenId tokens = tokens_to_fit(context, parameters, "frequency");
    const model::Activations& activations = *context.activations;
    std::vector<BlockSet> active;
    for (LayerId l = 0; l < activations.layers(); ++l) {
      active.clear();
      append_active(activations, l, 0, tokens, context.density, active);
      orders_.push_back(order_by_use(activations.ffn(), active));
    }
  }

  std::span<const std::int32_t> order(LayerId layer) const override {
    return orders_[static_cast<std::size_t>(layer)];
  }

 private:
  std::vector<std::vector<std::int32_t>> orders_;
};

}  // namespace

LEANSTREAM_PLACEMENT(Frequency, "frequency", "neurons by falling use, counted on the prompt")

}  // namespace leanstream::policy
