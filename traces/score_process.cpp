#include "traces/score_process.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "engine/base/error.h"
#include "traces/format.h"
#include "traces/latent_factors.h"
#include "traces/magnitude_profile.h"

namespace leanstream::traces {
namespace {

constexpr int kFitBisections = 40;
constexpr double kTolerance = 0.005;  // of a figure that no process reaches exactly
constexpr double kHottest = 0.2;      // of the neurons, in hot_share

// The root of a rising function on [low, high], or the nearer end.
template <typename Function>
double solve(double low, double high, double wanted, Function value) {
  for (int i = 0; i < kFitBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (value(middle) < wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// The same of a knob's figure. Throws UserError where `wanted` lies outside of what is there.
template <typename Function>
double solve_within(const char* knob, double low, double high, double density, double wanted,
                    Function value) {
  const double least = value(low), most = value(high);
  if (wanted < least - kTolerance || wanted > most + kTolerance) {
    throw UserError("{} {:.3f} cannot be at density {}: {:.3f} … {:.3f} can", knob, wanted, density,
                    least, most);
  }
  return solve(low, high, wanted, value);
}

// Correlation of a layer's moving part with that of the next token, which is another one.
double next_correlation(const ActivationFit& p, const FitLayer& layer) {
  double sum = 0;
  for (std::size_t i = 0; i < layer.lasting.size(); ++i) {
    sum += layer.lasting[i] * std::exp(-1 / p.lasting_tokens[i]);
  }
  return sum;
}

std::vector<MovingScores> scores_of(const ActivationFit& p, double density) {
  std::vector<MovingScores> all;
  for (const FitLayer& layer : p.layers) all.push_back(moving_scores(layer, density));
  return all;
}

double persistence_of(const ActivationFit& p, const std::vector<MovingScores>& scores) {
  double sum = 0;
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    sum += scores[l].overlap(next_correlation(p, p.layers[l]));
  }
  return sum / static_cast<double>(p.layers.size());
}

double hot_share_of(const std::vector<MovingScores>& scores) {
  std::vector<double> rates;
  for (const MovingScores& s : scores) {
    rates.insert(rates.end(), s.rates().begin(), s.rates().end());
  }
  std::sort(rates.begin(), rates.end(), std::greater<>());
  const auto hottest = rates.begin() + std::llround(kHottest * static_cast<double>(rates.size()));
  return std::accumulate(rates.begin(), hottest, 0.0) /
         std::accumulate(rates.begin(), rates.end(), 0.0);
}

double importance_share_of(const ActivationFit& p, double density, double power) {
  double sum = 0;
  for (const FitLayer& layer : p.layers) {
    sum += MagnitudeProfile(p.magnitude_shares, layer.magnitude).top_share(density, power);
  }
  return sum / static_cast<double>(p.layers.size());
}

// The neurons' constants at `factor` times their distance from the median.
ActivationFit with_heat(ActivationFit p, double factor) {
  for (FitLayer& layer : p.layers) {
    const double middle = layer.hot[layer.hot.size() / 2];
    for (double& h : layer.hot) h = middle + factor * (h - middle);
  }
  return p;
}

// −1: nothing lasts. 0: as it is. Towards 1: all variance lasts, and for ever.
ActivationFit with_memory(ActivationFit p, double memory) {
  if (memory < 0) {
    for (FitLayer& layer : p.layers) {
      for (double& share : layer.lasting) share *= 1 + memory;
      layer.token *= 1 + memory;
    }
    return p;
  }
  for (double& tokens : p.lasting_tokens) tokens /= 1 - memory;
  for (FitLayer& layer : p.layers) {
    const double faded = std::accumulate(layer.lasting.begin(), layer.lasting.end(), 0.0);
    const double more = memory * (layer.fresh() + layer.token);
    layer.token *= 1 - memory;
    for (double& share : layer.lasting) {
      share += more * (faded > 0 ? share / faded : 1 / static_cast<double>(layer.lasting.size()));
    }
  }
  return p;
}

ActivationFit solve_persistence(const ActivationFit& p, double density, double wanted) {
  const auto scores = scores_of(p, density);
  const auto at = [&](double memory) { return persistence_of(with_memory(p, memory), scores); };
  if (const double least = at(-1); wanted < least - kTolerance) {
    throw UserError(
        "persistence {:.3f} is too small: hot neurons alone keep {:.3f} of a set from token to "
        "token; "
        "ask for more persistence, or for less hot_share",
        wanted, least);
  }
  return with_memory(p, solve(-1, 0.9999, wanted, at));
}

ActivationFit solve_heat(const ActivationFit& p, double density, double wanted) {
  const auto at = [&](double factor) {
    return hot_share_of(scores_of(with_heat(p, factor), density));
  };
  return with_heat(p, solve_within("hot_share", 0, 8, density, wanted, at));
}

ActivationFit solve_importance(ActivationFit p, double density, double wanted) {
  const double power =
      solve_within("importance_share", 0.02, 20, density, wanted,
                   [&](double exponent) { return importance_share_of(p, density, exponent); });
  for (FitLayer& layer : p.layers) {
    for (double& m : layer.magnitude) m = std::pow(m, power);
  }
  return p;
}

}  // namespace

const config::Table<SynthesisKnobs>& synthesis_table() {
  using K = SynthesisKnobs;
  static const config::Table<K> table{
      config::ratio("density", &K::density,
                    "share of a layer's neurons that form a set in the three figures below; "
                    "absent: the fit's")
          .range(0.01, 0.9),
      config::ratio("persistence", &K::persistence,
                    "share of a set that is in the next token's too; absent: the fit's. 0.82 to "
                    "0.85 is reported for Mistral-7B (at density 0.38)")
          .range(0.02, 0.98),
      config::ratio("hot_share", &K::hot_share,
                    "share of all uses that the most used 20 % of the neurons have in the long "
                    "run; absent: the fit's")
          .range(0.2, 0.95),
      config::ratio("importance_share", &K::importance_share,
                    "share of the importance that a set holds; absent: as the magnitudes are")
          .range(0.02, 0.98),
      config::list("recall", &K::recall,
                   "recall of the true sets by predictions from features -2, -1, 0 … 8, for "
                   "predictor statistical; empty: the fit's, layer by layer")
          .range(0, 1),
      config::ratio("error_persistence", &K::error_persistence,
                    "correlation of a neuron's prediction error between consecutive tokens; near "
                    "0 on SmolLM2-135M")
          .range(0, 0.99)};
  return table;
}

ProcessFigures figures_of(const ActivationFit& process, double density) {
  const auto scores = scores_of(process, density);
  return {.density = density,
          .persistence = persistence_of(process, scores),
          .hot_share = hot_share_of(scores),
          .importance_share = importance_share_of(process, density, 1)};
}

ActivationFit calibrate(const ActivationFit& fit, LayerId layers, const SynthesisKnobs& knobs) {
  if (!knobs.recall.empty() && knobs.recall.size() != kFeatures) {
    throw UserError("recall needs {} values (features -2, -1, 0 … 8), not {}", kFeatures,
                    knobs.recall.size());
  }
  const double density = knobs.density.value_or(fit.density);
  ActivationFit p = with_layers(fit, layers);
  const double persistence = figures_of(p, density).persistence;
  if (knobs.hot_share) p = solve_heat(p, density, *knobs.hot_share);
  if (knobs.persistence || knobs.hot_share) {
    p = solve_persistence(p, density, knobs.persistence.value_or(persistence));
  }
  if (knobs.importance_share) p = solve_importance(std::move(p), density, *knobs.importance_share);
  if (!knobs.recall.empty()) {
    for (FitLayer& layer : p.layers) layer.recall = knobs.recall;
  }
  return p;
}

}  // namespace leanstream::traces
