#include "engine/policy/place/fit.h"

namespace leanstream::policy {
namespace {

// Neurons that were used most often come first, of equal ones the lower index; so hot neurons share
// blocks with hot ones.
class Frequency final : public Placement {
 public:
  using Parameters = FitParameters;
  static const config::Table<Parameters>& table() { return FitParameters::table(); }

  Frequency(const Context& context, const Parameters& parameters)
      : orders_(fit_orders(context, parameters, "frequency", order_by_use)) {}

  std::span<const std::int32_t> order(LayerId layer) const override {
    return orders_[static_cast<std::size_t>(layer)];
  }

 private:
  std::vector<std::vector<std::int32_t>> orders_;
};

}  // namespace

LEANSTREAM_PLACEMENT(Frequency, "frequency", "neurons by falling use, counted on the prompt")

}  // namespace leanstream::policy
