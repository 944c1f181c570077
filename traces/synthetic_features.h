// The features of a synthetic trace: its factors with so much noise that a prediction with the
// neurons' own loadings has the recall of the fit.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/random.h"
#include "engine/base/types.h"
#include "traces/activation_fit.h"
#include "traces/latent_factors.h"

namespace leanstream::traces {

// Features −2 … 8 of layer l for every token, half floats in out[token, layers, 11, hidden]. The
// first kFactors dimensions hold the factors, of unit variance: feature 8 with its noise, each
// earlier one what the next holds with noise of its own, and −1 with a noise apart. The other
// dimensions say nothing: noise a quarter as large, the same in all features of a token. Needs
// hidden ≥ kFactors and layer.recall. `density` is that of the recall.
void synthetic_features(const FitLayer& layer, double density, const LatentFactors& factors,
                        LayerId l, const RandomStream& random, std::size_t hidden,
                        std::span<std::uint16_t> out);

}  // namespace leanstream::traces
