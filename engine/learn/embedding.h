// Embeds the neurons of a layer so that those used together are near each other.
#pragma once

#include <cstdint>

#include "engine/policy/place/coactivation.h"

namespace leanstream::learn {

struct EmbeddingRule {
  std::int32_t dimensions = 128;
  std::int32_t iterations = 200;
  std::int32_t contexts = 512;  // neurons that one iteration pairs with all others
  double rate = 0.05;           // of Adam, falling to a twentieth
  std::uint64_t seed = 1;
};

// The counts as the embedding sees them, in the largest unit that keeps `uses` below 2^16.
//
// Z minimises −log σ(Z_n·Z_n⁺) − log σ(−Z_n·Z_n⁻) in expectation, where a positive n⁺ is drawn as
// often as it is used together with n, and a negative n⁻ as often as the two would be if they had
// nothing to do with each other, uses(n)·uses(n⁻). Where that is least, Z_n·Z_m is the logarithm of
// how much more often than by chance n and m are used together (Levy and Goldberg, NIPS 2014), as
// far as so few dimensions can say it. So what is returned are counts without most of their chance:
// uses(n)·uses(m)·exp(Z_n·Z_m), scaled alike.
//
// Floating point: the last bits of Z depend on compiler and processor.
policy::Coactivation embedded(const policy::Coactivation& counted, const EmbeddingRule& rule);

}  // namespace leanstream::learn
