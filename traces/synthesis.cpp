#include "traces/synthesis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/transformer/thread_pool.h"
#include "traces/deviates.h"
#include "traces/latent_factors.h"
#include "traces/levels.h"
#include "traces/magnitude_profile.h"
#include "traces/synthetic_features.h"

namespace leanstream::traces {
namespace {

constexpr double kMostBytes = 16e9;         // of codes and features, all held in memory
constexpr double kTopShare = 1 - 5e-7;      // one neuron in two million lies above
constexpr std::size_t kNeuronsAtOnce = 64;  // whose loadings stay in the first-level cache

// Scores as ranks need them: kRankBits fractional bits, from −8 to 8.
constexpr int kRankBits = 10;
constexpr std::size_t kRankBins = 1 << 14;

std::uint16_t rank_bin(std::int32_t score) {
  constexpr auto kMiddle = static_cast<std::int32_t>(kRankBins / 2);
  return static_cast<std::uint16_t>(
      std::clamp((score >> (kScoreBits - kRankBits)) + kMiddle, 0, 2 * kMiddle - 1));
}

// Codes of one layer. The neurons of each token have the layer's magnitudes: the share of them that
// is below a neuron decides its code.
class Codes {
 public:
  Codes(const ActivationFit& process, const FitLayer& layer) {
    const MagnitudeProfile profile(process.magnitude_shares, layer.magnitude);
    const auto importance = [&](double share) {
      return static_cast<float>(std::exp(profile.log_importance(share)));
    };
    const float high = importance(1 - kHighDensity);
    const float low = importance(1 - kLowDensity);
    levels_ = make_levels({.low = std::max(low, static_cast<float>(high / kWidestFineRegion)),
                           .high = high,
                           .top = importance(kTopShare)},
                          kEvenSplit);
    const Quantiser quantiser(levels_);
    for (std::size_t i = 0; i < of_share_.size(); ++i) {
      of_share_[i] = quantiser.code(
          importance((static_cast<double>(i) + 0.5) / static_cast<double>(of_share_.size())));
    }
  }

  const LevelTable& levels() const { return levels_; }

  // From the bins of one token's scores to their codes.
  void of_token(std::span<const std::uint16_t> bins, std::span<std::uint8_t> out) {
    std::fill(counts_.begin(), counts_.end(), 0);
    for (const std::uint16_t bin : bins) ++counts_[bin];
    std::uint64_t twice_below = 0;  // the neurons of a bin are below one another by half
    for (std::size_t bin = 0; bin < kRankBins; ++bin) {
      if (counts_[bin] == 0) continue;
      const std::uint64_t middle = twice_below + counts_[bin];
      of_bin_[bin] = of_share_[middle * of_share_.size() / (2 * bins.size())];
      twice_below += 2 * std::uint64_t{counts_[bin]};
    }
    for (std::size_t j = 0; j < bins.size(); ++j) out[j] = of_bin_[bins[j]];
  }

 private:
  LevelTable levels_{};
  std::array<std::uint8_t, 1 << 16> of_share_{};
  std::array<std::uint32_t, kRankBins> counts_{};
  std::array<std::uint8_t, kRankBins> of_bin_{};
};

TraceInfo info_of(const SynthesisRequest& request, const ActivationFit& fit,
                  const ActivationFit& process, const SynthesisKnobs& knobs) {
  const auto& shape = request.shape;
  TraceInfo info;
  info.model = {shape.name, shape.layers, shape.hidden, shape.ffn, ""};
  info.kind = TraceKind::kSynthetic;
  info.source = fmt::format("synthetic: drawn from a fit to {} ({}), seed {}; no model computed it",
                            fit.model, fit.source, request.seed);
  info.error_persistence = knobs.error_persistence;
  info.tool = "leanstream synthesize";
  info.command = request.command;
  const ProcessFigures figures = figures_of(process, knobs.density.value_or(fit.density));
  const auto knob = [&](const char* name, const std::optional<double>& asked, double otherwise) {
    info.knobs[name] = asked ? fmt::format("{}", *asked) : fmt::format("{:.3f} (fit)", otherwise);
  };
  info.knobs["fit"] = fit.name;
  knob("density", knobs.density, fit.density);
  knob("persistence", knobs.persistence, figures.persistence);
  knob("hot_share", knobs.hot_share, figures.hot_share);
  knob("importance_share", knobs.importance_share, figures.importance_share);
  info.knobs["recall"] =
      knobs.recall.empty() ? "(fit)" : fmt::format("{}", fmt::join(knobs.recall, " "));
  info.knobs["error_persistence"] = fmt::format("{}", knobs.error_persistence);
  info.knobs["magnitudes"] = request.magnitudes.empty() ? "(fit)" : request.magnitudes;
  return info;
}

bool has_recall(const ActivationFit& process) {
  return std::all_of(process.layers.begin(), process.layers.end(),
                     [](const FitLayer& layer) { return layer.recall.size() == kFeatures; });
}

void check(const SynthesisRequest& request, const ActivationFit& process) {
  const auto& shape = request.shape;
  const double steps = double{1} * request.tokens * shape.layers;
  const double bytes =
      steps * shape.ffn + (request.features ? 2.0 * steps * kFeatures * shape.hidden : 0);
  std::vector<std::string> problems;
  if (bytes > kMostBytes) {
    problems.push_back(
        fmt::format("{} tokens of {} are {:.1f} GB; at most {:.0f} GB are made at "
                    "once",
                    request.tokens, shape.name, bytes * 1e-9, kMostBytes * 1e-9));
  }
  if (request.features && shape.hidden < static_cast<std::int32_t>(kFactors)) {
    problems.push_back(fmt::format("{} has hidden {}; features need at least {}", shape.name,
                                   shape.hidden, kFactors));
  }
  if (request.features && !has_recall(process)) {
    problems.push_back(fmt::format(
        "fit {} has no recall, which features need; record without --no-recall, or give recall=…",
        process.name));
  }
  if (!problems.empty()) throw UserError("{}", fmt::join(problems, "\n"));
}

// Ids below the model's vocabulary, where that is known: those that are not frequent may share one.
std::vector<std::int32_t> vocabulary_ids(std::vector<std::int32_t> ids, std::size_t frequent_ids,
                                         std::int32_t vocabulary) {
  const auto frequent = static_cast<std::int32_t>(frequent_ids);
  for (std::int32_t& id : ids) {
    if (vocabulary <= 0 || id < vocabulary) continue;
    id = vocabulary > frequent ? frequent + (id - frequent) % (vocabulary - frequent)
                               : id % vocabulary;
  }
  return ids;
}

// Writes codes[token, l, neuron] for all tokens and neurons.
void draw_layer(Codes& codes, const Loadings& loadings, const LatentFactors& factors, LayerId l,
                std::size_t layers, std::size_t ffn, std::vector<std::uint8_t>& out) {
  const std::size_t tokens = factors.tokens().size();
  std::vector<std::uint16_t> bins(tokens * ffn);
  for (std::size_t first = 0; first < ffn; first += kNeuronsAtOnce) {
    const std::size_t end = std::min(ffn, first + kNeuronsAtOnce);
    for (std::size_t t = 0; t < tokens; ++t) {
      const auto of_token = factors.at(static_cast<TokenId>(t), l);
      for (std::size_t j = first; j < end; ++j) {
        bins[t * ffn + j] = rank_bin(loadings.score(j, of_token));
      }
    }
  }
  for (std::size_t t = 0; t < tokens; ++t) {
    codes.of_token(std::span(bins).subspan(t * ffn, ffn),
                   std::span(out).subspan((t * layers + static_cast<std::size_t>(l)) * ffn, ffn));
  }
}

}  // namespace

Synthesis synthesize(const SynthesisRequest& request, const ActivationFit& fit,
                     const SynthesisKnobs& knobs) {
  const auto& shape = request.shape;
  const ActivationFit process = calibrate(fit, shape.layers, knobs);
  check(request, process);
  Synthesis out{TraceWriter(info_of(request, fit, process, knobs), request.tokens), {}};
  const RandomStream random(request.seed, "traces.synthesis");
  const RandomStream noise(request.seed, "traces.synthesis.features");
  const LatentFactors factors(process, request.tokens, random);
  const auto layers = static_cast<std::size_t>(shape.layers);
  const auto ffn = static_cast<std::size_t>(shape.ffn);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  const std::size_t steps = static_cast<std::size_t>(request.tokens) * layers;
  std::vector<std::uint8_t> all(steps * ffn);
  std::vector<LevelTable> tables(layers);
  if (request.features) out.features.resize(steps * kFeatures * hidden);
  transformer::ThreadPool pool(request.threads > 0 ? request.threads
                                                   : transformer::ThreadPool::sensible_threads());
  pool.run(shape.layers, [&](std::int64_t at) {
    const auto l = static_cast<LayerId>(at);
    const FitLayer& layer = process.layers[static_cast<std::size_t>(at)];
    Codes codes(process, layer);
    tables[static_cast<std::size_t>(at)] = codes.levels();
    draw_layer(codes, Loadings(layer, l, shape.ffn, random), factors, l, layers, ffn, all);
    if (request.features) {
      synthetic_features(layer, process.density, factors, l, noise, hidden, out.features);
    }
  });
  std::vector<float> levels;
  std::vector<float> recall;
  for (std::size_t l = 0; l < layers; ++l) {
    levels.insert(levels.end(), tables[l].begin(), tables[l].end());
    for (const double r : process.layers[l].recall) recall.push_back(static_cast<float>(r));
  }
  out.writer.set_codes(std::move(all), std::move(levels));
  out.writer.set_tokens(vocabulary_ids(factors.tokens(), process.token_shares.size(), shape.vocab));
  if (request.features) out.writer.set_features(out.features);
  if (has_recall(process)) out.writer.set_recall(recall, process.density);
  return out;
}

}  // namespace leanstream::traces
