#include <algorithm>

#include "engine/policy/predict/predictor.h"

namespace leanstream::policy {
namespace {

// Knows the true importance, whatever it is asked from: the bound of every predictor.
class Oracle final : public Predictor {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Oracle(const Context& context, const Parameters&) : activations_(context.activations) {}

  void predict(TokenId token, LayerId layer, std::int32_t,
               std::span<std::uint8_t> codes) const override {
    const auto truth = activations_->importance(token, layer);
    std::copy(truth.begin(), truth.end(), codes.begin());
  }

 private:
  const model::Activations* activations_;
};

}  // namespace

LEANSTREAM_PREDICTOR(Oracle, "oracle", "the true importance (a bound, not a predictor)")

}  // namespace leanstream::policy
