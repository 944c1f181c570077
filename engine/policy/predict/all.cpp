#include "engine/policy/predict/predictor.h"

namespace leanstream::policy {
namespace {

// Wants every neuron of every layer: dense systems. No prediction takes place.
class All final : public Predictor {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  All(const Context&, const Parameters&) {}

  bool wants_everything() const override { return true; }
  void predict(TokenId, LayerId, std::int32_t, std::span<std::uint8_t>) const override {
    LEANSTREAM_CHECK(false, "a dense system asked for a prediction");
  }
};

}  // namespace

LEANSTREAM_PREDICTOR(All, "all", "every neuron, without any prediction")

}  // namespace leanstream::policy
