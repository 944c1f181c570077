// Which neurons matter, token by token and layer by layer: what predictors predict and what every
// comparison is judged by.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/types.h"

namespace leanstream::model {

inline constexpr int kLevels = 256;

// A read-only view; implementations: a recorded or synthetic trace, a live model.
class Activations {
 public:
  virtual ~Activations() = default;

  virtual TokenId tokens() const = 0;
  virtual LayerId layers() const = 0;
  virtual std::int32_t ffn() const = 0;

  // Importance codes of the ffn neurons of one layer for one token, in the model's neuron order;
  // s = |silu(gate)·up|·‖down column‖₂, stored as an index into levels(layer).
  virtual std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const = 0;

  // Whether importance(token, layer) is the truth once the layer has been computed. Where it is
  // not, only a world that computes may know it (scheduler::Completion::scores).
  virtual bool known(TokenId /*token*/, LayerId /*layer*/) const { return true; }

  // The kLevels importances that the codes of a layer stand for, non-decreasing, levels[0] ≥ 0.
  virtual std::span<const float> levels(LayerId layer) const = 0;

  // How well exact weights predict the layer's true top set from each feature, index −2 … 8, as
  // measured when the trace was recorded: the recall at density recall_density(). Empty when it
  // was not measured.
  virtual std::span<const float> recall(LayerId /*layer*/) const { return {}; }
  virtual double recall_density() const { return 0; }

  // Correlation of a neuron's prediction error between consecutive tokens, 0 ≤ r < 1.
  virtual double error_persistence() const { return 0; }
};

}  // namespace leanstream::model
