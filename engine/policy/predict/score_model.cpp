#include "engine/policy/predict/score_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/normal.h"

namespace leanstream::policy {
namespace {

constexpr std::int32_t kOne = 1024;   // a normal score of 1 as an integer
constexpr std::size_t kRanks = 4096;  // resolution of ranks
constexpr std::int32_t kReach = 4;    // scores lie within ±4
constexpr std::size_t kBins = 512;    // of scores, over ±kReach
constexpr std::int32_t kBinWidth = 2 * kReach * kOne / static_cast<std::int32_t>(kBins);

// Normal scores of ranks and ranks of normal scores, rounded to integers once.
struct NormalTables {
  std::array<std::int32_t, kRanks> score_of_rank;
  std::array<std::uint32_t, kBins> rank_of_bin;  // of kRanks · 16, at the middle of a bin

  NormalTables() {
    for (std::size_t i = 0; i < kRanks; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kRanks;
      score_of_rank[i] = static_cast<std::int32_t>(std::lround(normal_quantile(p) * kOne));
    }
    for (std::size_t i = 0; i < kBins; ++i) {
      const double x = (static_cast<double>(i) + 0.5) * kBinWidth / kOne - kReach;
      rank_of_bin[i] = static_cast<std::uint32_t>(std::lround(normal_cdf(x) * kRanks * 16));
    }
  }
};

const NormalTables& tables() {
  static const NormalTables all;
  return all;
}

// About normal with unit variance kOne: the sum of four bytes (Irwin–Hall), variance 4·(256²−1)/12.
std::int32_t noise_of(std::uint32_t word) {
  const auto sum = static_cast<std::int32_t>((word & 255U) + (word >> 8 & 255U) +
                                             (word >> 16 & 255U) + (word >> 24));
  return (sum * 2 - 1020) * 3547 / 1024;  // 3547/1024 = kOne ÷ (2 · √21845)
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
    return static_cast<std::int32_t>(std::lround(c * std::sqrt(variance) * kOne));
  };
  return {weight(1), weight(shared), weight(total - shared)};
}

void predict_codes(std::span<const std::uint8_t> truth, ScoreWeights weights, std::uint64_t noise,
                   std::span<std::uint8_t> codes) {
  const NormalTables& normal = tables();
  const auto neurons = static_cast<std::uint32_t>(truth.size());
  std::array<std::uint32_t, 256> histogram{};
  for (const std::uint8_t c : truth) ++histogram[c];

  std::array<std::int32_t, 256> score{};  // of each code: that of its middle rank
  std::array<std::uint8_t, kBins> code_of_bin{};
  std::uint32_t below = 0;
  std::size_t bin = 0;
  for (std::size_t c = 0; c < histogram.size(); ++c) {
    const std::uint32_t n = histogram[c];
    if (n == 0) continue;
    const std::uint64_t middle = (2ULL * below + n) * kRanks / (2ULL * neurons);
    score[c] = normal.score_of_rank[std::min<std::size_t>(kRanks - 1, middle)];
    below += n;
    const std::uint64_t end = std::uint64_t{below} * kRanks * 16 / neurons;
    while (bin < kBins && (normal.rank_of_bin[bin] <= end || below == neurons)) {
      code_of_bin[bin++] = static_cast<std::uint8_t>(c);
    }
  }
  for (std::size_t j = 0; j < truth.size(); ++j) {
    const std::uint64_t word = mix(noise, j);
    const std::int32_t sum = weights.truth * score[truth[j]] +
                             weights.final_error * noise_of(static_cast<std::uint32_t>(word)) +
                             weights.stage_error * noise_of(static_cast<std::uint32_t>(word >> 32));
    const std::int32_t at = (sum / kOne + kReach * kOne) / kBinWidth;
    codes[j] = code_of_bin[static_cast<std::size_t>(
        std::clamp<std::int32_t>(at, 0, static_cast<std::int32_t>(kBins) - 1))];
  }
}

}  // namespace leanstream::policy
