// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/random.h"

namespace leanstream::transformer {

struct SamplingRule {
  double temperature = 0;  // ≥ 0; 0: always the likeliest (of equals the lowest id)
  std::int32_t top_k = 0;  // only the k likeliest; 0: all
  double top_p = 1;        // then only the likeliest whose probabilities first reach p, 0 < p ≤ 1
};

// Equal streams give equal choices. A NaN among the logits is never chosen unless all are.
std::int32_t sample(std::span<const float> logits, const SamplingRule& rule, RandomStream& random);

}  // namespace leanstream::transformer
