// What moves the neurons of a synthetic trace: for each token and layer a vector of factors, and
// for each neuron its loadings on them. All on integers: equal arguments give equal numbers.
//
// The vector is a sum of parts, each a normal vector of unit variance times the root of its share:
// one that the token's identity decides, one for each length of memory (the shortest are context,
// the longest topic), one that is new, and one direction that falls off with the position. Every
// part is correlated between neighbouring layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/types.h"
#include "traces/activation_fit.h"
#include "traces/moving_scores.h"

namespace leanstream::traces {

inline constexpr std::size_t kFactors = 128;

// The scores that this generator gives a layer: it has no more than kFactors factors.
inline MovingScores moving_scores(const FitLayer& layer, double density) {
  return {layer.hot, density, std::min(layer.factors, double{kFactors})};
}

class LatentFactors {
 public:
  LatentFactors(const ActivationFit& process, TokenId tokens, const RandomStream& random);

  // kFactors numbers with kScoreBits fractional bits.
  std::span<const std::int16_t> at(TokenId t, LayerId l) const {
    return {
        &factors_[(static_cast<std::size_t>(t) * layers_ + static_cast<std::size_t>(l)) * kFactors],
        kFactors};
  }
  // The text, without a token twice in a row: those that are frequent in the fit have the lowest
  // ids, in order of their share.
  const std::vector<std::int32_t>& tokens() const { return tokens_; }

 private:
  std::size_t layers_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int16_t> factors_;  // [tokens, layers, kFactors]
};

// The neurons of one layer.
class Loadings {
 public:
  static constexpr int kBits = 12;

  Loadings(const FitLayer& layer, LayerId l, std::int32_t ffn, const RandomStream& random);

  // Score of a neuron, kScoreBits: its constant and its loadings, of unit length, on the factors.
  std::int32_t score(std::size_t neuron, std::span<const std::int16_t> factors) const {
    std::int32_t sum = 0;
    const std::int16_t* loading = &of_[neuron * kFactors];
    for (std::size_t k = 0; k < kFactors; ++k) sum += std::int32_t{loading[k]} * factors[k];
    return constant_[neuron] + (sum >> kBits);
  }

 private:
  std::vector<std::int32_t> constant_;
  std::vector<std::int16_t> of_;  // [ffn, kFactors]
};

}  // namespace leanstream::traces
