#include "tests/bench/mistral.h"

#include <cmath>

namespace leanstream::bench {
namespace {

constexpr TokenId kDistinct = 6;  // tokens that differ; they repeat

}  // namespace

Activations::Activations(TokenId tokens) : tokens_(tokens) {
  for (int c = 0; c < model::kLevels; ++c) {  // importance over four decades
    levels_.push_back(static_cast<float>(std::pow(10.0, 4.0 * c / 255 - 4)));
  }
  RandomStream random(7, "bench.activations");
  const auto layer = static_cast<std::size_t>(kLayers) * kFfn;
  codes_.resize(layer * kDistinct);
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    const bool persists = i >= layer && random.next_below(5) < 2;
    const auto sum = random.next_below(86) + random.next_below(86) + random.next_below(86);
    codes_[i] = persists ? codes_[i - layer] : static_cast<std::uint8_t>(sum);
  }
}

std::span<const std::uint8_t> Activations::importance(TokenId token, LayerId layer) const {
  const auto row =
      static_cast<std::size_t>(token % kDistinct) * kLayers + static_cast<std::size_t>(layer);
  return {codes_.data() + row * kFfn, kFfn};
}

scheduler::RunSpec spec(TokenId tokens, TokenId prompt_tokens) {
  model::ModelShape shape;
  shape.layers = kLayers;
  shape.hidden = 4096;
  shape.ffn = kFfn;
  scheduler::RunSpec s;
  s.layers = kLayers;
  s.geometry = model::cut_into_blocks(shape, 2, 512);
  s.slots = kSlots;
  s.tokens = tokens;
  s.prompt_tokens = prompt_tokens;
  s.density = 0.25;
  s.queue_depth = 32;
  return s;
}

BlockSet random_set(RandomStream& random, BlockId count) {
  BlockSet set(kBlocks);
  while (set.count() < count) {
    for (BlockId i = set.count(); i < count; ++i) {
      // Two thirds come from the first third of the layer.
      const auto among =
          static_cast<std::uint64_t>(random.next_below(3) < 2 ? kBlocks / 3 : kBlocks);
      set.set(static_cast<BlockId>(random.next_below(among)));
    }
  }
  return set;
}

}  // namespace leanstream::bench
