// How large the importances of a layer are: which share of its neurons is below which value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/activation_fit.h"

namespace leanstream::traces {

// Quantiles of one layer as a curve that is straight between them on Weibull paper, where ln
// importance stands over ln(−ln(1 − share)), and goes on with its outermost slopes. Exponential
// and Weibull laws are straight lines there.
class MagnitudeProfile {
 public:
  // Rising shares in (0, 1) and importances > 0 that do not fall; at least two of each.
  MagnitudeProfile(std::span<const double> shares, std::span<const double> importances);

  // ln of the importance that `share` of the neurons do not exceed, 0 < share < 1.
  double log_importance(double share) const;

  // Share of Σ importance^power that the top `density` of the neurons hold.
  double top_share(double density, double power) const;

 private:
  std::vector<double> at_;   // ln(−ln(1 − share))
  std::vector<double> log_;  // ln importance
};

// The published quantiles of one model's |h|, h = silu(gate) · up (‖down‖ is taken as 1).
struct MeasuredMagnitudes {
  std::string model;
  std::vector<double> shares;
  std::vector<std::vector<double>> layers;
};

// The rows of a CSV file whose `model` is the name, up to case and punctuation; columns `layer` and
// abs_qNN are used, layers must be there from 0 on. Throws UserError, all problems at once.
MeasuredMagnitudes read_magnitudes(const std::string& path, const std::string& model);

// `fit` with these magnitudes, resampled to its number of layers.
ActivationFit with_magnitudes(const ActivationFit& fit, const MeasuredMagnitudes& magnitudes);

}  // namespace leanstream::traces
