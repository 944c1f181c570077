// Predictors: which neurons will matter, from a feature of the computation so far.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/types.h"
#include "engine/model/activations.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

// A pure function of its arguments; called by the world when a prediction ends.
class Predictor {
 public:
  static constexpr const char* kKind = "predictor";

  struct Context {
    const model::Activations* activations = nullptr;  // outlives the predictor
    std::uint64_t seed = 0;
  };

  virtual ~Predictor() = default;

  // True when every neuron is always wanted and no prediction takes place (dense systems).
  virtual bool wants_everything() const { return false; }

  // Writes one importance code a neuron (an index into Activations::levels(layer)) in the model's
  // neuron order. feature: kFeatureInput … kStages. codes.size() == ffn.
  virtual void predict(TokenId token, LayerId layer, std::int32_t feature,
                       std::span<std::uint8_t> codes) const = 0;
};

}  // namespace leanstream::policy

#define LEANSTREAM_PREDICTOR(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Predictor, Policy, name, help)
