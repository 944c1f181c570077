#include "traces/score_process.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/normal.h"
#include "traces/format.h"

namespace leanstream::traces {
namespace {

// Gauss–Hermite nodes and weights for expectations over a standard normal.
constexpr std::array<double, 5> kNodes = {-2.8569700138728, -1.3556261799743, 0, 1.3556261799743,
                                          2.8569700138728};
constexpr std::array<double, 5> kWeights = {0.0112574113277, 0.2220759220056, 0.5333333333333,
                                            0.2220759220056, 0.0112574113277};

constexpr int kBisections = 40;

// The root of a rising function on [low, high], or the nearer end.
template <typename Function>
double solve(double low, double high, double wanted, Function value) {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (value(middle) < wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// policy::recall_of_correlation at kKnobDensity by interpolation over the angle of the correlation,
// in which it is smooth up to both ends.
class Overlap {
 public:
  Overlap() {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      at_[i] =
          policy::recall_of_correlation(std::cos(kStep * static_cast<double>(i)), kKnobDensity);
    }
    at_[0] = 1;
  }
  double of(double correlation) const {
    const double angle = std::acos(std::clamp(correlation, -1.0, 1.0)) / kStep;
    const auto i = std::min(static_cast<std::size_t>(angle), at_.size() - 2);
    const double part = angle - static_cast<double>(i);
    return at_[i] + part * (at_[i + 1] - at_[i]);
  }

 private:
  static constexpr int kSteps = 256;
  static constexpr double kStep = M_PI / kSteps;
  std::array<double, kSteps + 1> at_{};
};

// Variance of a layer's scores over the neurons, given the two factors of its token.
double variance(const ScoreProcess& p, double token_factor, double layer_factor) {
  return p.fixed + p.lasting + p.fresh + p.token * token_factor * token_factor +
         p.layer * layer_factor * layer_factor;
}

// E of value(token factor, layer factor).
template <typename Value>
double mean_over_factors(Value value) {
  double sum = 0;
  for (std::size_t a = 0; a < kNodes.size(); ++a) {
    for (std::size_t b = 0; b < kNodes.size(); ++b) {
      sum += kWeights[a] * kWeights[b] * value(kNodes[a], kNodes[b]);
    }
  }
  return sum;
}

double persistence_of(const ScoreProcess& p, const Overlap& overlap) {
  const double common = p.fixed + p.carry * p.lasting;
  return mean_over_factors([&](double token, double layer) {
    const double before = variance(p, token, layer);
    return mean_over_factors([&](double next_token, double next_layer) {
      const double covariance =
          common + p.token * token * next_token + p.layer * layer * next_layer;
      return overlap.of(covariance / std::sqrt(before * variance(p, next_token, next_layer)));
    });
  });
}

// The top share ρ of a log-normal with logarithmic spread σ holds Φ(σ − Φ⁻¹(1 − ρ)) of its sum.
double importance_share_of(const ScoreProcess& p, double spread) {
  const double z = normal_quantile(1 - kKnobDensity);
  return mean_over_factors([&](double token, double layer) {
    return normal_cdf(spread * std::sqrt(variance(p, token, layer)) - z);
  });
}

// `kept` of what is not fixed survives a token. It is lost half to noise that is new each token and
// half to slow change: lasting = carry = √kept. On SmolLM2-135M the overlap with the set 1, 2, 3,
// 4, 8, 100 tokens before is 0.347, 0.315, 0.329, 0.314, 0.302, 0.290: neither part alone does
// that.
ScoreProcess process_of(const SynthesisKnobs& knobs, double fixed, double kept) {
  ScoreProcess p;
  p.fixed = fixed;
  p.carry = std::sqrt(kept);
  p.lasting = (1 - fixed) * p.carry;
  const double rest = 1 - fixed - p.lasting;
  p.token = knobs.token_factor * rest;
  p.layer = knobs.layer_factor * rest;
  p.fresh = rest - p.token - p.layer;
  return p;
}

}  // namespace

const config::Table<SynthesisKnobs>& synthesis_table() {
  using K = SynthesisKnobs;
  static const config::Table<K> table{
      config::ratio("persistence", &K::persistence,
                    "share of a layer's top 20 % that is in the next token's too; measured on "
                    "SmolLM2-135M. 0.82 to 0.85 is reported for Mistral-7B (at density 0.38)")
          .range(0.2, 0.98),
      config::ratio("hot_share", &K::hot_share,
                    "share of all uses of the top 20 % that the most used 20 % of the neurons "
                    "have in the long run; measured on SmolLM2-135M over 1024 tokens")
          .range(0.2, 0.95),
      config::ratio("importance_share", &K::importance_share,
                    "share of the importance that a layer's top 20 % hold; measured on "
                    "SmolLM2-135M")
          .range(0.22, 0.98),
      config::ratio("token_factor", &K::token_factor,
                    "share of what is new with a token that one factor of the token moves in all "
                    "layers; fitted to how the overlap varies from token to token on SmolLM2-135M"),
      config::ratio("layer_factor", &K::layer_factor,
                    "the same for a factor of one layer of one token; fitted likewise"),
      config::list("recall", &K::recall,
                   "recall of the true top 20 % by predictions from features -2, -1, 0 … 8, for "
                   "predictor statistical; measured on SmolLM2-135M with exact weights, but -1 "
                   "assumed")
          .range(0, 1),
      config::ratio("error_persistence", &K::error_persistence,
                    "correlation of a neuron's prediction error between consecutive tokens; near "
                    "0 on SmolLM2-135M")
          .range(0, 0.99)};
  return table;
}

ScoreProcess calibrate(const SynthesisKnobs& knobs) {
  if (knobs.token_factor + knobs.layer_factor > 1) {
    throw UserError("token_factor {} and layer_factor {}: together they are at most 1",
                    knobs.token_factor, knobs.layer_factor);
  }
  if (knobs.recall.size() != kFeatures) {
    throw UserError("recall needs {} values (features -2, -1, 0 … 8), not {}", kFeatures,
                    knobs.recall.size());
  }
  const double hot = policy::correlation_of_recall(knobs.hot_share, kKnobDensity);
  const double fixed = hot * hot;
  const Overlap overlap;
  const auto persistence = [&](double kept) {
    return persistence_of(process_of(knobs, fixed, kept), overlap);
  };
  const double least = persistence(0);
  if (knobs.persistence < least - 0.005) {
    throw UserError(
        "persistence {} is too small for hot_share {} and the factors: these alone keep {:.3f} of "
        "a "
        "set from token to token; ask for more persistence, or for less of them",
        knobs.persistence, knobs.hot_share, least);
  }
  ScoreProcess p = process_of(knobs, fixed, solve(0, 1, knobs.persistence, persistence));
  p.spread = solve(0.01, 8, knobs.importance_share,
                   [&](double spread) { return importance_share_of(p, spread); });
  return p;
}

}  // namespace leanstream::traces
