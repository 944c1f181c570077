#include "engine/policy/place/fit.h"

namespace leanstream::policy {
namespace {

// Neurons that are used together are neighbours: Ripple's chain. `leanstream train placement` fits
// the same chain on other text.
class Pairwise final : public Placement {
 public:
  using Parameters = FitParameters;
  static const config::Table<Parameters>& table() { return FitParameters::table(); }

  Pairwise(const Context& context, const Parameters& parameters)
      : orders_(fit_orders(context, parameters, "pairwise", order_by_pairs)) {}

  std::span<const std::int32_t> order(LayerId layer) const override {
    return orders_[static_cast<std::size_t>(layer)];
  }

 private:
  std::vector<std::vector<std::int32_t>> orders_;
};

}  // namespace

LEANSTREAM_PLACEMENT(Pairwise, "pairwise",
                     "neurons that the prompt uses together as neighbours, linked closest first")

}  // namespace leanstream::policy
