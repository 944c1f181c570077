#include "traces/fit_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/normal.h"
#include "engine/model/density.h"
#include "traces/latent_factors.h"
#include "traces/overlap_pairs.h"
#include "traces/statistics.h"

namespace leanstream::traces {
namespace {

constexpr TokenId kMostTokens = 2048;
constexpr TokenId kFewestTokens = 64;
constexpr double kMostFactors = 4096;  // more cannot be told from infinitely many
constexpr int kRounds = 4000;          // of coordinate descent
constexpr std::array<double, 21> kMagnitudeShares = {0.02, 0.05, 0.1,  0.2,   0.3,   0.4,   0.5,
                                                     0.6,  0.7,  0.8,  0.85,  0.9,   0.93,  0.95,
                                                     0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995};

std::vector<std::string> problems_of(std::span<const Trace* const> traces, double density,
                                     bool allow_synthetic) {
  std::vector<std::string> problems;
  if (!(density > 0 && density < 1)) {
    problems.push_back(fmt::format("density {}: it must be above 0 and below 1", density));
  }
  for (const Trace* trace : traces) {
    const auto& info = trace->info();
    const auto& first = traces.front()->info();
    if (info.model.layers != first.model.layers || info.model.ffn != first.model.ffn) {
      problems.push_back(
          fmt::format("{}: {} × {} neurons, but {} has {} × {}: one fit is of one "
                      "model",
                      trace->path(), info.model.layers, info.model.ffn, traces.front()->path(),
                      first.model.layers, first.model.ffn));
    }
    if (info.kind == TraceKind::kSynthetic && !allow_synthetic) {
      problems.push_back(fmt::format(
          "{}: synthetic; a fit is made from a recorded trace (--synthetic fits it all the same)",
          trace->path()));
    }
    if (trace->tokens() < kFewestTokens) {
      problems.push_back(fmt::format("{}: {} tokens; a fit needs at least {}", trace->path(),
                                     trace->tokens(), kFewestTokens));
    }
    if (trace->has_recall() && std::abs(trace->recall_density() - density) > 1e-9) {
      problems.push_back(
          fmt::format("{}: its recall was measured at density {}, not {}; fit at "
                      "that density or record with --recall-density",
                      trace->path(), trace->recall_density(), density));
    }
  }
  return problems;
}

// The first tokens of a trace, as far as a fit looks.
class Beginning final : public model::Activations {
 public:
  explicit Beginning(const Trace& trace) : trace_(trace) {}
  TokenId tokens() const override { return std::min(trace_.tokens(), kMostTokens); }
  LayerId layers() const override { return trace_.layers(); }
  std::int32_t ffn() const override { return trace_.ffn(); }
  std::span<const std::uint8_t> importance(TokenId t, LayerId l) const override {
    return trace_.importance(t, l);
  }
  std::span<const float> levels(LayerId l) const override { return trace_.levels(l); }
  double error_persistence() const override { return trace_.error_persistence(); }
  std::span<const float> recall(LayerId l) const override {
    return static_cast<const model::Activations&>(trace_).recall(l);
  }
  double recall_density() const override { return trace_.recall_density(); }
  // Empty where the trace has no text.
  std::span<const std::int32_t> token_ids() const {
    const auto ids = trace_.token_ids().subspan(0, static_cast<std::size_t>(tokens()));
    const bool none = std::all_of(ids.begin(), ids.end(), [&](auto id) { return id == ids[0]; });
    return none ? std::span<const std::int32_t>{} : ids;
  }

 private:
  const Trace& trace_;
};

// Everything that is counted before anything is solved.
struct Counts {
  OverlapPairs pairs;
  std::vector<std::vector<double>> rates;                         // [layers, ffn] of use
  std::vector<std::array<double, kMagnitudeShares.size()>> logs;  // Σ over tokens
  std::vector<std::int64_t> with_importance;                      // tokens in `logs`, by layer
  std::vector<std::int64_t> gaps;  // uses by tokens since the last, from 1
  std::int64_t tokens = 0;

  Counts(LayerId layers, std::int32_t ffn)
      : pairs(layers),
        rates(static_cast<std::size_t>(layers), std::vector<double>(static_cast<std::size_t>(ffn))),
        logs(static_cast<std::size_t>(layers)),
        with_importance(static_cast<std::size_t>(layers)) {}
};

void count_uses(const SetSequence& sets, Counts& counts) {
  for (LayerId l = 0; l < sets.layers(); ++l) {
    auto& rates = counts.rates[static_cast<std::size_t>(l)];
    std::vector<TokenId> last(rates.size(), -1);
    for (TokenId t = 0; t < sets.tokens(); ++t) {
      sets.at(t, l).for_each([&](BlockId b) {
        const auto j = static_cast<std::size_t>(b);
        rates[j] += 1;
        if (last[j] >= 0) {
          const auto gap = static_cast<std::size_t>(t - last[j]);
          if (counts.gaps.size() <= gap) counts.gaps.resize(gap + 1);
          ++counts.gaps[gap];
        }
        last[j] = t;
      });
    }
  }
}

// ln of the importance that kMagnitudeShares of the neurons do not exceed, summed over the tokens.
void count_magnitudes(const Beginning& activations, Counts& counts) {
  for (LayerId l = 0; l < activations.layers(); ++l) {
    const auto levels = activations.levels(l);
    const double least = 0.5 * double{levels[1]};
    if (least <= 0) continue;
    for (TokenId t = 0; t < activations.tokens(); ++t) {
      std::array<std::int32_t, model::kLevels> histogram{};
      for (const std::uint8_t code : activations.importance(t, l)) ++histogram[code];
      std::size_t code = 0;
      std::int32_t below = histogram[0];
      for (std::size_t i = 0; i < kMagnitudeShares.size(); ++i) {
        const double rank = kMagnitudeShares[i] * activations.ffn();
        while (code + 1 < histogram.size() && below <= rank) below += histogram[++code];
        counts.logs[static_cast<std::size_t>(l)][i] +=
            std::log(std::max<double>(least, levels[code]));
      }
      ++counts.with_importance[static_cast<std::size_t>(l)];
    }
  }
}

// f ≥ 0 with the least Σ (Σ_i f_i e^(−lag ÷ tokens_i) − r(lag))², by cyclic coordinate descent.
std::vector<double> fit_decay(const std::vector<double>& lags, const std::vector<double>& wanted,
                              const std::vector<double>& fade_tokens) {
  std::vector<double> shares(fade_tokens.size()), rest = wanted;
  const auto basis = [&](std::size_t i, std::size_t k) {
    return std::exp(-lags[k] / fade_tokens[i]);
  };
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      double product = 0, square = 0;
      for (std::size_t k = 0; k < lags.size(); ++k) {
        product += basis(i, k) * rest[k];
        square += basis(i, k) * basis(i, k);
      }
      if (square <= 0) continue;
      const double share = std::max(0.0, shares[i] + product / square);
      for (std::size_t k = 0; k < lags.size(); ++k) rest[k] -= (share - shares[i]) * basis(i, k);
      shares[i] = share;
    }
  }
  return shares;
}

// The neurons' constants: Φ⁻¹ of how often they are used, drawn together until far tokens have as
// much in common as they do (counting a finite number of uses spreads them).
std::vector<double> hot_quantiles(std::vector<double> rates, double tokens, double density,
                                  double far_overlap, double factors) {
  std::sort(rates.begin(), rates.end());
  const double least = 0.5 / tokens;
  std::vector<double> hot;
  for (std::size_t i = 0; i < kHotQuantiles; ++i) {
    const double rate = at_quantile(rates, static_cast<double>(i) / (kHotQuantiles - 1));
    hot.push_back(normal_quantile(std::clamp(rate, least, 1 - least)));
  }
  const double middle = normal_quantile(density);
  const auto drawn_together = [&](double factor) {
    std::vector<double> out;
    for (const double h : hot) out.push_back(middle + factor * (h - middle));
    return out;
  };
  double low = 0.1, high = 1.2;
  for (int i = 0; i < 30; ++i) {
    const double factor = 0.5 * (low + high);
    (moving_scores({.hot = drawn_together(factor), .factors = factors}, density).overlap(0) <
             far_overlap
         ? low
         : high) = factor;
  }
  return drawn_together(0.5 * (low + high));
}

// Variance of |A ∩ B| that is left when the moving parts are independent, for independent uses at
// these rates and sets of fixed size.
double noise_variance(const std::vector<double>& rates) {
  double sum = 0;
  for (const double f : rates) sum += f * f * (1 - f) * (1 - f);
  return sum;
}

// Mean over the early tokens of what each has in common with late ones, and its standard error.
std::pair<double, double> early_overlap(const LayerPairs& pairs) {
  double sum = 0, squares = 0, n = 0;
  for (const Common& of_token : pairs.early_late) {
    if (of_token.pairs == 0) continue;
    sum += of_token.mean();
    squares += of_token.mean() * of_token.mean();
    ++n;
  }
  if (n < 2) return {0, 0};
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1))};
}

// Variance that the position adds to the first token: early tokens have less in common with late
// ones than later tokens have. What is within two standard errors does not count.
double position_variance(const MovingScores& scores, const LayerPairs& pairs) {
  const auto [early, error] = early_overlap(pairs);
  if (early == 0 || pairs.mid_late.sum == 0) return 0;
  const double wanted = scores.overlap_with_wider(0) * (early + 2 * error) / pairs.mid_late.mean();
  double low = 0, high = 4;
  for (int i = 0; i < 30; ++i) {
    const double middle = 0.5 * (low + high);
    (scores.overlap_with_wider(middle) > wanted ? low : high) = middle;
  }
  double mean = 0;  // of the factor's square over the early tokens
  for (int t = 1; t < kEarlyTokens; ++t) {
    mean += std::exp(-2 * t / kPositionTokens) / (kEarlyTokens - 1);
  }
  return high < 1e-3 ? 0 : high / mean;
}

// (Σλ)² ÷ Σλ² of the factors: overlaps of far tokens vary by so much more than chance explains.
double effective_factors(const MovingScores& scores, double variance, double noise, double active) {
  const double slope = active * (scores.overlap_of_pair(0.1) - scores.overlap_of_pair(-0.1)) / 0.2;
  return std::clamp(slope * slope / std::max(variance - noise, 1e-9), 1.0, kMostFactors);
}

FitLayer fit_layer(const Counts& counts, std::size_t l, std::int32_t active, double density,
                   const std::vector<double>& fade_tokens) {
  const LayerPairs& pairs = counts.pairs.layers()[l];
  FitLayer layer;
  layer.factors = kMostFactors;
  for (int round = 0; round < 3; ++round) {  // each needs the other
    layer.hot = hot_quantiles(counts.rates[l], static_cast<double>(counts.tokens), density,
                              pairs.different.mean() / active, layer.factors);
    layer.factors = effective_factors(moving_scores(layer, density), pairs.different.variance(),
                                      noise_variance(counts.rates[l]), active);
  }
  const MovingScores scores = moving_scores(layer, density);
  std::vector<double> lags, correlations;
  for (std::size_t i = 0; i < kLagClasses.size(); ++i) {
    if (pairs.by_lag[i].pairs == 0) continue;
    lags.push_back(static_cast<double>(pairs.lag_sum[i]) /
                   static_cast<double>(pairs.by_lag[i].pairs));
    correlations.push_back(scores.correlation(pairs.by_lag[i].mean() / active));
  }
  layer.lasting = fit_decay(lags, correlations, fade_tokens);
  const double faded = std::accumulate(layer.lasting.begin(), layer.lasting.end(), 0.0);
  if (faded > 1) {
    for (double& share : layer.lasting) share /= faded;
  }
  if (pairs.same.pairs > 0) {
    layer.token =
        std::clamp(scores.correlation(pairs.same.mean() / active), 0.0, std::max(0.0, 1 - faded));
  }
  layer.position = position_variance(scores, pairs);
  for (std::size_t i = 0; i < kMagnitudeShares.size(); ++i) {
    const auto tokens = static_cast<double>(std::max<std::int64_t>(1, counts.with_importance[l]));
    layer.magnitude.push_back(std::exp(counts.logs[l][i] / tokens));
  }
  return layer;
}

// √ of the mean correlation of overlaps between neighbouring layers: overlaps of two tokens vary
// with the correlation of their factors, which decays with the square of the factors' own.
double layer_carry(const Counts& counts) {
  const auto& layers = counts.pairs.layers();
  const auto real_share = [&](std::size_t l) {
    const double all = layers[l].different.variance();
    return all <= 0 ? 0 : std::clamp(1 - noise_variance(counts.rates[l]) / all, 0.0, 1.0);
  };
  double sum = 0;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    sum += counts.pairs.correlation_with_next(static_cast<LayerId>(l), real_share(l),
                                              real_share(l + 1));
  }
  if (layers.size() < 2) return 0;
  return std::min(0.999, std::sqrt(sum / static_cast<double>(layers.size() - 1)));
}

std::vector<double> shares_of_repeated(const std::map<std::int32_t, int>& uses) {
  std::vector<double> shares;
  int all = 0;
  for (const auto& [token, count] : uses) {
    all += count;
    if (count > 1) shares.push_back(count);
  }
  std::sort(shares.rbegin(), shares.rend());
  for (double& share : shares) share /= all;
  return shares;
}

std::vector<double> percentiles(const std::vector<std::int64_t>& counts) {
  const auto all =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> out;
  for (const double share : {0.5, 0.9, 0.99}) {
    double below = 0;
    std::size_t gap = 0;
    while (gap + 1 < counts.size() && below < share * all) {
      below += static_cast<double>(counts[++gap]);
    }
    out.push_back(static_cast<double>(std::max<std::size_t>(gap, 1)));
  }
  return out;
}

// Recall by layer, the mean over the traces that have it.
void fit_recall(std::span<const Trace* const> traces, ActivationFit& fit) {
  const auto with = std::count_if(traces.begin(), traces.end(),
                                  [](const Trace* trace) { return trace->has_recall(); });
  if (with == 0) return;
  for (std::size_t l = 0; l < fit.layers.size(); ++l) {
    std::vector<double> mean(kFeatures);
    for (const Trace* trace : traces) {
      if (!trace->has_recall()) continue;
      for (std::size_t i = 0; i < kFeatures; ++i) {
        const float recall = trace->recall(static_cast<LayerId>(l))[i];
        if (std::isnan(recall)) return;
        mean[i] += double{recall} / static_cast<double>(with);
      }
    }
    for (double& value : mean) value = std::min(value, 1.0);
    fit.layers[l].recall = std::move(mean);
  }
}

}  // namespace

ActivationFit fit_traces(std::span<const Trace* const> traces, double density,
                         bool allow_synthetic) {
  const auto problems = problems_of(traces, density, allow_synthetic);
  if (!problems.empty()) throw UserError("{}", fmt::join(problems, "\n"));
  const auto& info = traces.front()->info();
  ActivationFit fit;
  fit.model = info.model.name;
  fit.density = density;
  fit.magnitude_shares.assign(kMagnitudeShares.begin(), kMagnitudeShares.end());
  Counts counts(info.model.layers, info.model.ffn);
  std::map<std::int32_t, int> uses;
  for (const Trace* trace : traces) {
    const Beginning activations(*trace);
    const SetSequence sets = active_sets(activations, density);
    counts.pairs.add(sets, activations.token_ids());
    count_uses(sets, counts);
    count_magnitudes(activations, counts);
    counts.tokens += activations.tokens();
    for (const std::int32_t token : activations.token_ids()) ++uses[token];
    const Statistics s = set_statistics(activations, density);
    const double weight = 1.0 / static_cast<double>(traces.size());
    fit.persistence += weight * s.overlap;
    fit.hot_share += weight * s.hottest_share[1];
    fit.importance_share += weight * s.importance_share;
    fit.source += (fit.source.empty() ? "" : "; ") + trace->info().source;
  }
  fit.tokens = static_cast<TokenId>(counts.tokens);
  for (auto& layer : counts.rates) {
    for (double& rate : layer) rate /= static_cast<double>(counts.tokens);
  }
  fit.layer_carry = layer_carry(counts);
  fit.token_shares = shares_of_repeated(uses);
  fit.reuse_tokens = percentiles(counts.gaps);
  const std::int32_t active = model::kept_count(density, info.model.ffn);
  for (std::size_t l = 0; l < counts.rates.size(); ++l) {
    fit.layers.push_back(fit_layer(counts, l, active, density, fit.lasting_tokens));
  }
  fit_recall(traces, fit);
  return fit;
}

}  // namespace leanstream::traces
