// Predictors: which neurons will matter, from a feature of the computation so far.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/types.h"
#include "engine/model/activations.h"

namespace leanstream::policy {

// What a prediction costs on a device is charged as the predictor it stands for
// (`predict_cost: like`, engine/README.md).
enum class PredictorCostKind : std::uint8_t { none, stacked_hash, low_rank_mlp };

// A pure function of its arguments; called by the world when a prediction ends.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // True when every neuron is always wanted and no prediction takes place (dense systems).
  virtual bool wants_everything() const { return false; }

  // Writes one importance code a neuron (an index into Activations::levels(layer)) in the model's
  // neuron order. feature: kFeatureInput … kStages. codes.size() == ffn.
  virtual void predict(TokenId token, LayerId layer, std::int32_t feature,
                       std::span<std::uint8_t> codes) const = 0;
};

}  // namespace leanstream::policy
