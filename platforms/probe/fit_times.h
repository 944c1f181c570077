// What things cost, from how long sums of them took.
#pragma once

#include <span>
#include <vector>

namespace leanstream::probe {

// Took `seconds` = Σ cost[i] · amounts[i].
struct Timed {
  std::vector<double> amounts;
  double seconds = 0;
};

struct TimeFit {
  std::vector<double> costs;   // s for one of each amount, ≥ 0
  std::vector<double> errors;  // of each: model ÷ measured − 1
};

// The costs ≥ 0 with the least Σ (model ÷ measured − 1)², exactly: the best of all choices of which
// costs are 0. At least one is not. All `times` have as many amounts, at most 10, and seconds > 0.
TimeFit fit_times(std::span<const Timed> times);

}  // namespace leanstream::probe
