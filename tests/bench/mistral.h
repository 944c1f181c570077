// What the benchmarks work on: sizes of Mistral-7B in blocks of two neurons, and seeded
// activations.
#pragma once

#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/random.h"
#include "engine/model/activations.h"
#include "engine/model/shape.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::bench {

inline constexpr LayerId kLayers = 32;
inline constexpr std::int32_t kFfn = 14336;
inline constexpr BlockId kBlocks = kFfn / 2;
inline constexpr BlockId kWanted = kBlocks / 4;  // density 0.25
inline constexpr SlotId kSlots = kLayers * kBlocks / 5;

// Codes of a few tokens in turn, as skewed as a real model's: the top quarter lies above code 128.
class Activations final : public model::Activations {
 public:
  explicit Activations(TokenId tokens);

  TokenId tokens() const override { return tokens_; }
  LayerId layers() const override { return kLayers; }
  std::int32_t ffn() const override { return kFfn; }
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const override;
  std::span<const float> levels(LayerId) const override { return levels_; }

 private:
  TokenId tokens_;
  std::vector<float> levels_;
  std::vector<std::uint8_t> codes_;
};

scheduler::RunSpec spec(TokenId tokens, TokenId prompt_tokens);

// `count` blocks of a layer; of two sets about 40 % are common.
BlockSet random_set(RandomStream& random, BlockId count);

}  // namespace leanstream::bench
