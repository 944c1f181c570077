// The probabilities of one layer's scores (activation_fit.h): each neuron has a constant, and a
// moving part of unit variance, normal and alike for all neurons. The moving parts of two tokens
// correlate as their factors do: about a mean, with a variance of (1 − mean²)² ÷ factors.
#pragma once

#include <array>
#include <span>
#include <vector>

namespace leanstream::traces {

// Linear interpolation between equally spaced quantiles; 0 ≤ share ≤ 1.
double at_quantile(std::span<const double> quantiles, double share);

class MovingScores {
 public:
  // `hot`: quantiles of the constants. Sets are the top `density` of the neurons, 0 < density < 1.
  MovingScores(std::span<const double> hot, double density, double factors);

  // How often the neurons at kNodes equally spaced quantiles are in a set.
  const std::vector<double>& rates() const { return rates_; }

  // Mean share of a set that is in a second one, when the moving parts correlate by −1 … 1 in the
  // mean.
  double overlap(double correlation) const;
  // Its inverse; overlaps out of range give the nearer end.
  double correlation(double overlap) const;
  // The same for one pair of tokens, whose correlation is this.
  double overlap_of_pair(double correlation) const;

  // Overlap of two sets whose moving parts are independent, the first's with variance 1 + more.
  double overlap_with_wider(double more) const;

  static constexpr int kNodes = 128;

 private:
  // The score that `share` of the neurons exceed when the moving part has this deviation.
  double threshold(double share, double deviation) const;

  static constexpr int kSteps = 64;  // of the correlation's angle, on each side of 0

  double density_;
  double deviation_;  // of the correlation, at a mean of 0
  std::vector<double> nodes_;
  double threshold_;
  std::vector<double> rates_;
  std::array<double, 2 * kSteps + 1> overlap_{};  // at correlations sin(i · π ÷ 2 ÷ kSteps)
};

}  // namespace leanstream::traces
