// The model itself in f32, beside a live run and outside its budget and time: what exact weights
// say of importance, from the residuals that the device has computed so far.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "engine/transformer/model.h"
#include "experiments/run/live_input.h"

namespace leanstream::run {

class Shadow {
 public:
  // Loads the model and fits the levels of each layer to a dense pass over the first given tokens,
  // at most transformer::kChunkTokens. `input` outlives it.
  Shadow(const std::string& gguf, const LiveInput& input);

  const std::vector<traces::LevelTable>& levels() const { return levels_; }

  // What the device has computed; as backend::Observer. Its residuals feed the shadow's own keys
  // and values.
  void ended(const scheduler::Command& command, const backend::Computed& computed);

  // Codes of the layer's neurons for the token that is being decoded or the one before, until the
  // next call. The truth once the layer's input or its own residual after attention is known;
  // before that, what follows when the layer is applied to the newest residual of the layer before.
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer);

  // Appends the codes of a layer's importances.
  void encode(LayerId layer, std::span<const float> importance,
              std::vector<std::uint8_t>& codes) const;

 private:
  using Residual = std::vector<float>;  // [hidden], or empty: not known

  struct Layer {
    Residual input;     // before its attention
    Residual own;       // after it, as the shadow computes it from that
    Residual attended;  // after it, of the device
    Residual newest;    // after the newest release
  };
  struct Token {
    TokenId token = kNone;
    std::vector<Layer> layers;
  };

  void fit_levels();
  void begin(TokenId token);
  void put_input(LayerId layer, std::span<const float> residual);
  transformer::Matrix attend(LayerId layer, std::span<const float> residuals);
  std::span<const std::uint8_t> codes_of(LayerId layer, std::span<const float> attended);

  const LiveInput& input_;
  transformer::Model model_;
  transformer::KvCache cache_;
  std::vector<traces::LevelTable> levels_;
  std::vector<traces::Quantiser> quantisers_;
  Token now_, before_;
  transformer::Matrix x_, mlp_input_, h_, importance_;  // scratch
  std::vector<std::uint8_t> codes_;
};

}  // namespace leanstream::run
