// The factors by which a device's requests are slower or faster than the mean.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/random.h"

namespace leanstream::sim {

// Log-normal with parameter σ and mean 1, as 4,096 equally likely values: the quantiles of the
// middles of as many equal shares, scaled so that their mean is 1. The same bits on every machine.
std::vector<double> lognormal_factors(double sigma);

// Draws them, from the run's seed.
class Spread {
 public:
  Spread(double sigma, std::uint64_t seed);
  double next() {
    return factors_.empty() ? 1.0 : factors_[static_cast<std::size_t>(random_.next_u64() >> 52)];
  }

  double least() const { return factors_.empty() ? 1.0 : factors_.front(); }

 private:
  std::vector<double> factors_;  // none: always 1
  RandomStream random_;
};

}  // namespace leanstream::sim
