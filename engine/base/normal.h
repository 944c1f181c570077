// The standard normal distribution, where models of scores need it. Built on std::erfc alone.
#pragma once

namespace leanstream {

// Φ(x)
double normal_cdf(double x);

// Φ⁻¹(p) by bisection within ±8, for 0 < p < 1.
double normal_quantile(double p);

}  // namespace leanstream
