#include "sim/spread.h"

#include <cmath>

#include "engine/base/normal.h"

namespace leanstream::sim {
namespace {

constexpr std::size_t kFactors = 4096;  // the 12 upper bits of a word choose one

// eˣ by its series at x ÷ 2⁸, squared 8 times: IEEE operations only, unlike std::exp.
double exponential(double x) {
  const double small = x / 256;
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 10; ++k) sum += term *= small / k;
  for (int i = 0; i < 8; ++i) sum *= sum;
  return sum;
}

}  // namespace

std::vector<double> lognormal_factors(double sigma) {
  std::vector<double> factors(kFactors);
  double sum = 0;
  for (std::size_t i = 0; i < kFactors / 2; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kFactors);
    // A multiple of 2⁻³⁰, so that the last bits of std::erfc do not matter.
    const double z = std::nearbyint(normal_quantile(share) * 0x1p30) * 0x1p-30;
    factors[i] = exponential(sigma * z);
    factors[kFactors - 1 - i] = exponential(-sigma * z);
    sum += factors[i] + factors[kFactors - 1 - i];
  }
  for (double& factor : factors) factor *= static_cast<double>(kFactors) / sum;
  return factors;
}

Spread::Spread(double sigma, std::uint64_t seed) : random_(seed, "sim.flash.spread") {
  if (sigma > 0) factors_ = lognormal_factors(sigma);
}

}  // namespace leanstream::sim
