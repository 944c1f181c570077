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
  double error = 0;            // their root mean square
  // The same of the best fit without this cost; `error` where it is 0 anyway.
  std::vector<double> error_without;
};

// The costs ≥ 0 with the least root mean square of model ÷ measured − 1, exactly: the best of all
// choices of which costs are 0, each other one counting as an error of 0.1 %, so that what explains
// nothing is left out. At least one is not 0. All `times` have as many amounts, at most 10, and
// seconds > 0.
TimeFit fit_times(std::span<const Timed> times);

}  // namespace leanstream::probe
