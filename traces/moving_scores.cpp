#include "traces/moving_scores.h"

#include <algorithm>
#include <cmath>

#include "engine/base/median.h"
#include "engine/base/normal.h"

namespace leanstream::traces {
namespace {

constexpr double kReach = 16;  // no score is further from 0
constexpr int kBisections = 50;

}  // namespace

double at_quantile(std::span<const double> quantiles, double share) {
  const double at = share * static_cast<double>(quantiles.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), quantiles.size() - 2);
  return quantiles[i] + (at - static_cast<double>(i)) * (quantiles[i + 1] - quantiles[i]);
}

MovingScores::MovingScores(std::span<const double> hot, double density, double factors)
    : density_(density), deviation_(1 / std::sqrt(factors)) {
  for (int i = 0; i < kNodes; ++i) nodes_.push_back(at_quantile(hot, (i + 0.5) / kNodes));
  threshold_ = threshold(density, 1);
  for (const double node : nodes_) rates_.push_back(normal_cdf(node - threshold_));
  // P(both above a) = Φ(−a)² + 1/2π ∫ exp(−a² ÷ (1 + sin θ)) dθ from 0 to the angle of the
  // correlation (Plackett 1954, for equal thresholds), by the midpoint rule.
  const double step = 0.5 * M_PI / kSteps;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const double a = threshold_ - nodes_[i];
    const auto density_at = [&](double theta) {
      return std::exp(-a * a / (1 + std::sin(theta))) / (2 * M_PI) * step;
    };
    double up = rates_[i] * rates_[i], down = up;
    overlap_[kSteps] += up;
    for (std::size_t k = 1; k <= kSteps; ++k) {
      const double theta = (static_cast<double>(k) - 0.5) * step;
      overlap_[kSteps + k] += up += density_at(theta);
      overlap_[kSteps - k] += down -= density_at(-theta);
    }
  }
  for (double& o : overlap_) o /= density * static_cast<double>(nodes_.size());
}

double MovingScores::threshold(double share, double deviation) const {
  double low = -kReach, high = kReach;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    double above = 0;
    for (const double node : nodes_) above += normal_cdf((node - middle) / deviation);
    (above > share * static_cast<double>(nodes_.size()) ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double MovingScores::overlap(double correlation) const {
  const double apart = deviation_ * (1 - correlation * correlation);
  return 0.5 * (overlap_of_pair(correlation - apart) + overlap_of_pair(correlation + apart));
}

double MovingScores::overlap_of_pair(double correlation) const {
  const double at = kSteps * (1 + std::asin(std::clamp(correlation, -1.0, 1.0)) / (0.5 * M_PI));
  const auto i = std::min(static_cast<std::size_t>(at), overlap_.size() - 2);
  return overlap_[i] + (at - static_cast<double>(i)) * (overlap_[i + 1] - overlap_[i]);
}

double MovingScores::correlation(double overlap) const {
  double low = -1, high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (this->overlap(middle) < overlap ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double MovingScores::overlap_with_wider(double more) const {
  const double deviation = std::sqrt(1 + more);
  const double wide = threshold(density_, deviation);
  std::vector<double> both;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    both.push_back(rates_[i] * normal_cdf((nodes_[i] - wide) / deviation));
  }
  return mean(both) / density_;
}

}  // namespace leanstream::traces
