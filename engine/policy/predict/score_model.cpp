#include "engine/policy/predict/score_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/normal.h"
#include "engine/policy/predict/score_kernel.h"

namespace leanstream::policy {
namespace {

constexpr std::size_t kRanks = 4096;   // resolution of ranks
constexpr std::uint32_t kPeriods = 3;  // third coordinate of the stream, for no other draw

// Normal scores of ranks and ranks of normal scores, rounded to integers once.
struct NormalTables {
  std::array<std::int32_t, kRanks> score_of_rank;
  std::array<std::uint32_t, kScoreBins> rank_of_bin;  // of kRanks · 16, at the middle of a bin

  NormalTables() {
    for (std::size_t i = 0; i < kRanks; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kRanks;
      score_of_rank[i] = static_cast<std::int32_t>(std::lround(normal_quantile(p) * kScoreOne));
    }
    for (std::size_t i = 0; i < kScoreBins; ++i) {
      const double x =
          (static_cast<double>(i) + 0.5) * (1 << kScoreBinBits) / kScoreOne - kScoreReach;
      rank_of_bin[i] = static_cast<std::uint32_t>(std::lround(normal_cdf(x) * kRanks * 16));
    }
  }
};

const NormalTables& tables() {
  static const NormalTables all;
  return all;
}

}  // namespace

double recall_of_correlation(double correlation, double density) {
  LEANSTREAM_CHECK(density > 0 && density < 1, "density {}", density);
  const double z = normal_quantile(1 - density);
  const double spread = std::sqrt(std::max(1e-12, 1 - correlation * correlation));
  constexpr int kSteps = 160;
  const double width = (8 - z) / kSteps;
  double sum = 0;  // ∫ φ(x) · Φ((c·x − z) ÷ √(1 − c²)) dx over x > z, by the midpoint rule
  for (int i = 0; i < kSteps; ++i) {
    const double x = z + (i + 0.5) * width;
    sum += std::exp(-0.5 * x * x) * normal_cdf((correlation * x - z) / spread);
  }
  return sum * width / std::sqrt(2 * M_PI) / density;
}

double correlation_of_recall(double recall, double density) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 18; ++i) {
    const double middle = 0.5 * (low + high);
    (recall_of_correlation(middle, density) < recall ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

ScoreWeights score_weights(double stage, double final) {
  const double c = std::clamp(stage, 0.01, 1.0);
  const double total = 1 / (c * c) - 1;  // error variance at unit variance of the truth
  const double final_c = std::clamp(final, 0.01, 1.0);
  const double shared = std::min(total, 1 / (final_c * final_c) - 1);
  const auto weight = [&](double variance) {
    return static_cast<std::int32_t>(std::lround(c * std::sqrt(variance) * kScoreOne));
  };
  return {weight(1), weight(shared), weight(total - shared)};
}

ErrorPeriods::ErrorPeriods(double persistence, std::int32_t neurons, const RandomStream& random) {
  LEANSTREAM_CHECK(persistence > 0 && persistence < 1, "persistence {}", persistence);
  const double scale = -1 / std::log(persistence);  // tokens
  const auto padded = (static_cast<std::size_t>(neurons) + kScoreGroup - 1) / kScoreGroup;
  for (std::size_t j = 0; j < padded * kScoreGroup; ++j) {
    const std::uint64_t word = random.at(static_cast<std::uint32_t>(j), 0, kPeriods);
    const double share = (static_cast<double>(word >> 32) + 0.5) * 0x1p-32;
    double low = 0;  // of P ÷ scale, whose distribution function is 1 − e^−x · (1 + x)
    double high = 64;
    for (int i = 0; i < 50; ++i) {
      const double x = 0.5 * (low + high);
      (1 - std::exp(-x) * (1 + x) < share ? low : high) = x;
    }
    const double period = std::max(1.0, 0.5 * (low + high) * scale);  // below 1 all are new anyway
    rates_.push_back(static_cast<std::uint32_t>(std::min(0x1p32 / period, 0x1p32 - 1)));
    phases_.push_back(static_cast<std::uint32_t>(word));
  }
}

void prepare_scores() {
  tables();
}

void predict_codes(std::span<const std::uint8_t> truth, ScoreWeights weights,
                   const ErrorSource& errors, std::span<std::uint8_t> codes) {
  const NormalTables& normal = tables();
  const auto neurons = static_cast<std::uint32_t>(truth.size());
  const auto histogram = histogram_of(truth);
  ScoreKernel kernel;
  kernel.final_error = weights.final_error;
  kernel.stage_error = weights.stage_error;
  kernel.key = errors.key;
  if (errors.periods != nullptr) {
    kernel.token = static_cast<std::uint64_t>(errors.token);
    kernel.rates = errors.periods->rates();
    kernel.phases = errors.periods->phases();
  }
  std::uint32_t below = 0;
  std::size_t bin = 0;
  for (std::size_t c = 0; c < histogram.size(); ++c) {
    const std::uint32_t n = histogram[c];
    if (n == 0) continue;
    const std::uint64_t middle = (2ULL * below + n) * kRanks / (2ULL * neurons);
    kernel.truth[c] =
        weights.truth * normal.score_of_rank[std::min<std::size_t>(kRanks - 1, middle)];
    below += n;
    const std::uint64_t end = std::uint64_t{below} * kRanks * 16 / neurons;
    while (bin < kScoreBins && (normal.rank_of_bin[bin] <= end || below == neurons)) {
      kernel.code_of_bin[bin++] = static_cast<std::uint8_t>(c);
    }
  }
  kernel.run(truth, codes);
}

}  // namespace leanstream::policy
