#include <algorithm>

#include "engine/policy/predict/predictor.h"

namespace leanstream::policy {
namespace {

// Predicts that a token uses what the one before used, whatever the feature: what persistence
// alone is worth. Of the first token it knows nothing: all neurons are equal.
class PreviousToken final : public Predictor {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  PreviousToken(const Context& context, const Parameters&) : activations_(context.activations) {}

  void predict(TokenId token, LayerId layer, std::int32_t,
               std::span<std::uint8_t> codes) const override {
    if (token == 0) {
      std::fill(codes.begin(), codes.end(), std::uint8_t{0});
      return;
    }
    const auto before = activations_->importance(token - 1, layer);
    std::copy(before.begin(), before.end(), codes.begin());
  }

 private:
  const model::Activations* activations_;
};

}  // namespace

LEANSTREAM_PREDICTOR(PreviousToken, "previous_token", "the true importance of the token before")

}  // namespace leanstream::policy
