#include "traces/synthesis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/normal.h"
#include "engine/base/random.h"
#include "engine/transformer/thread_pool.h"
#include "traces/levels.h"

namespace leanstream::traces {
namespace {

// Everything that decides a code is an integer: scores and deviates have kScoreBits fractional
// bits, weights kWeightBits, the slow state kStateBits, its two coefficients kCarryBits.
constexpr int kScoreBits = 12;
constexpr int kWeightBits = 14;
constexpr int kStateBits = 20;
constexpr int kCarryBits = 24;
constexpr std::size_t kWords = 1 << 16;  // of 16 bits
constexpr double kTopScore = 4.9;        // one neuron in two million lies above
constexpr double kMostBytes = 16e9;      // of codes, all held in memory
constexpr double kWideFactor = 1.96;     // 95 % of a factor's values lie within

double fixed_point(int bits) {
  return static_cast<double>(std::int64_t{1} << bits);
}

std::int64_t rounded(double value, int bits) {
  return std::llround(value * fixed_point(bits));
}

// What a draw is for: the third coordinate of the stream.
enum Purpose : std::uint32_t { kFixed, kTokenLoading, kLayerLoading, kStart, kStep, kFactor };

// A normal deviate for each 16-bit word: the quantile at the middle of its share.
class Deviates {
 public:
  Deviates() {
    for (std::size_t i = 0; i < kWords / 2; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kWords;
      const auto value = static_cast<std::int16_t>(rounded(normal_quantile(p), kScoreBits));
      of_[i] = value;
      of_[kWords - 1 - i] = static_cast<std::int16_t>(-value);
    }
  }
  // `part` 0 … 3 of a random word.
  std::int64_t of(std::uint64_t word, int part) const { return of_[word >> (16 * part) & 0xFFFF]; }

 private:
  std::array<std::int16_t, kWords> of_{};
};

const Deviates& deviates() {
  static const Deviates table;
  return table;
}

// The code of each score, and the importances of the codes: the same in all layers.
struct Codes {
  LevelTable levels{};
  std::array<std::uint8_t, kWords> of_score{};

  explicit Codes(const ScoreProcess& p) {
    const double wide = std::sqrt(1 + (p.token + p.layer) *
                                          (kWideFactor * kWideFactor - 1));  // of a layer's scores
    const auto importance = [&](double score) {
      return static_cast<float>(std::exp(p.spread * score));
    };
    const float high = importance(wide * normal_quantile(1 - kHighDensity));
    const float low = importance(wide * normal_quantile(1 - kLowDensity));
    levels = make_levels({.low = std::max(low, static_cast<float>(high / kWidestFineRegion)),
                          .high = high,
                          .top = importance(std::max(kTopScore, 2.5 * wide))});
    const Quantiser quantiser(levels);
    for (std::size_t i = 0; i < kWords; ++i) {
      const double score = static_cast<double>(i) - 0.5 * static_cast<double>(kWords);
      of_score[i] = quantiser.code(importance(score / fixed_point(kScoreBits)));
    }
  }

  std::uint8_t of(std::int64_t score) const {
    constexpr std::int64_t kMiddle = kWords / 2;
    return of_score[static_cast<std::size_t>(
        std::clamp<std::int64_t>(score + kMiddle, 0, kWords - 1))];
  }
};

// The process in fixed point.
struct Weights {
  std::int64_t fixed, lasting, token, layer, fresh;  // of a score's parts, kWeightBits
  std::int64_t carry, innovation;                    // of the slow state, kCarryBits

  explicit Weights(const ScoreProcess& p)
      : fixed(rounded(std::sqrt(p.fixed), kWeightBits)),
        lasting(rounded(std::sqrt(p.lasting), kWeightBits)),
        token(rounded(std::sqrt(p.token), kWeightBits)),
        layer(rounded(std::sqrt(p.layer), kWeightBits)),
        fresh(rounded(std::sqrt(p.fresh), kWeightBits)),
        carry(rounded(p.carry, kCarryBits)),
        innovation(rounded(std::sqrt(1 - p.carry * p.carry), kCarryBits)) {}
};

// One layer, token by token.
class LayerScores {
 public:
  LayerScores(const Weights& weights, const RandomStream& random, std::uint32_t layer,
              std::size_t neurons)
      : weights_(weights), random_(random), layer_(layer), neurons_(neurons) {
    for (Neuron& n : neurons_) {
      const auto j = static_cast<std::size_t>(&n - neurons_.data());
      n.fixed = weights.fixed * draw(kFixed, j);
      n.token_loading = draw(kTokenLoading, j);
      n.layer_loading = draw(kLayerLoading, j);
      n.slow = draw(kStart, j) << (kStateBits - kScoreBits);
    }
  }

  // Writes the codes of the next token.
  void next(const Codes& codes, std::uint8_t* out) {
    const Deviates& normal = deviates();
    const std::int64_t token = factor(weights_.token, kNoLayer);
    const std::int64_t layer = factor(weights_.layer, layer_);
    const std::uint64_t row = random_.at(token_++, layer_, kStep);
    for (std::size_t j = 0; j < neurons_.size(); ++j) {
      Neuron& n = neurons_[j];
      const std::uint64_t word = mix(row, j);
      n.slow = (weights_.carry * n.slow +
                weights_.innovation * (normal.of(word, 0) << (kStateBits - kScoreBits)) + kHalf) >>
               kCarryBits;
      const std::int64_t sum = n.fixed + token * n.token_loading + layer * n.layer_loading +
                               (weights_.lasting * n.slow >> (kStateBits - kScoreBits)) +
                               weights_.fresh * normal.of(word, 1);
      out[j] = codes.of(sum >> kWeightBits);
    }
  }

 private:
  static constexpr std::int64_t kHalf = std::int64_t{1} << (kCarryBits - 1);
  static constexpr std::uint32_t kNoLayer = ~0U;

  struct Neuron {
    std::int64_t fixed, token_loading, layer_loading, slow;
  };

  std::int64_t draw(Purpose purpose, std::size_t neuron) const {
    return deviates().of(random_.at(static_cast<std::uint32_t>(neuron), layer_, purpose), 0);
  }
  std::int64_t factor(std::int64_t weight, std::uint32_t layer) const {
    return weight * deviates().of(random_.at(token_, layer, kFactor), 0) >> kScoreBits;
  }

  const Weights& weights_;
  const RandomStream& random_;
  std::uint32_t layer_;
  std::uint32_t token_ = 0;
  std::vector<Neuron> neurons_;
};

TraceInfo info_of(const model::ModelShape& shape, std::uint64_t seed, const SynthesisKnobs& knobs,
                  const std::string& command) {
  TraceInfo info;
  info.model = {shape.name, shape.layers, shape.hidden, shape.ffn, ""};
  info.kind = TraceKind::kSynthetic;
  info.source = fmt::format(
      "synthetic: Gaussian copula with a log-normal marginal, seed {}; no model computed it", seed);
  info.error_persistence = knobs.error_persistence;
  info.tool = "leanstream synthesize";
  info.command = command;
  const config::Json asked = synthesis_table().write(knobs);
  for (const auto& [name, value] : asked.items()) {
    info.knobs[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return info;
}

}  // namespace

TraceWriter synthesize(const model::ModelShape& shape, TokenId tokens, std::uint64_t seed,
                       const SynthesisKnobs& knobs, const std::string& command) {
  const ScoreProcess process = calibrate(knobs);
  const double bytes = double{1} * tokens * shape.layers * shape.ffn;
  if (bytes > kMostBytes) {
    throw UserError("{} tokens of {} are {:.1f} GB; at most {:.0f} GB are made at once", tokens,
                    shape.name, bytes * 1e-9, kMostBytes * 1e-9);
  }
  TraceWriter writer(info_of(shape, seed, knobs, command), tokens);
  const Codes codes(process);
  const Weights weights(process);
  const RandomStream random(seed, "traces.synthesis");
  const auto layers = static_cast<std::size_t>(shape.layers);
  const auto ffn = static_cast<std::size_t>(shape.ffn);
  std::vector<std::uint8_t> all(static_cast<std::size_t>(tokens) * layers * ffn);
  transformer::ThreadPool pool(transformer::ThreadPool::sensible_threads());
  pool.run(shape.layers, [&](std::int64_t l) {
    LayerScores scores(weights, random, static_cast<std::uint32_t>(l), ffn);
    for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
      scores.next(codes, &all[(t * layers + static_cast<std::size_t>(l)) * ffn]);
    }
  });
  std::vector<float> levels;
  std::vector<float> recall;
  for (std::size_t l = 0; l < layers; ++l) {
    levels.insert(levels.end(), codes.levels.begin(), codes.levels.end());
    for (const double r : knobs.recall) recall.push_back(static_cast<float>(r));
  }
  writer.set_codes(std::move(all), std::move(levels));
  writer.set_recall(recall, kKnobDensity);
  return writer;
}

}  // namespace leanstream::traces
