#include "traces/synthetic_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/transformer/tensor_type.h"
#include "traces/deviates.h"
#include "traces/format.h"

namespace leanstream::traces {
namespace {

constexpr int kNuisanceBits = 2;                // a quarter of the factors' deviation
constexpr std::uint32_t kNuisance = kFeatures;  // purpose of a draw; the features' own come before

using Vector = std::array<std::int32_t, kFactors>;

std::uint16_t half(std::int32_t value) {
  return transformer::float_to_half(static_cast<float>(value) / (1 << kScoreBits));
}

// correlation · from + √(1 − correlation²) · noise
class Blur {
 public:
  explicit Blur(double correlation)
      : kept_(rounded(correlation, kWeightBits)),
        noise_(rounded(std::sqrt(std::max(0.0, 1 - correlation * correlation)), kWeightBits)) {}

  void apply(const Vector& from, std::uint64_t row, Vector& to) const {
    Deviates::table().for_each(row, kFactors, [&](std::size_t k, std::int32_t deviate) {
      to[k] = static_cast<std::int32_t>((kept_ * from[k] + noise_ * deviate) >> kWeightBits);
    });
  }

 private:
  std::int64_t kept_, noise_;
};

}  // namespace

void synthetic_features(const FitLayer& layer, double density, const LatentFactors& factors,
                        LayerId l, const RandomStream& random, std::size_t hidden,
                        std::span<std::uint16_t> out) {
  const MovingScores scores = moving_scores(layer, density);
  const auto correlation = [&](int feature) {
    const double recall = layer.recall[static_cast<std::size_t>(feature_slot(feature))];
    return std::clamp(scores.correlation(recall), 0.0, 1.0);
  };
  // Each from the one before in this list, but the first from the factors; −1 stands alone.
  constexpr std::array kChain = {8, 7, 6, 5, 4, 3, 2, 1, 0, -2};
  std::vector<Blur> blurs;
  double reached = 1;
  for (const int feature : kChain) {
    const double wanted = std::min(correlation(feature), reached);
    blurs.emplace_back(reached > 0 ? wanted / reached : 0);
    reached = wanted;
  }
  const Blur own(correlation(-1));
  const auto tokens = static_cast<TokenId>(factors.tokens().size());
  const std::size_t layers = out.size() / (static_cast<std::size_t>(tokens) * kFeatures * hidden);
  const auto at = static_cast<std::uint32_t>(l);
  for (TokenId t = 0; t < tokens; ++t) {
    const auto token = static_cast<std::uint32_t>(t);
    std::uint16_t* rows =
        &out[(static_cast<std::size_t>(t) * layers + static_cast<std::size_t>(l)) * kFeatures *
             hidden];
    const auto row = [&](int feature) {
      return rows + static_cast<std::size_t>(feature_slot(feature)) * hidden;
    };
    Vector exact{}, value{};
    std::copy_n(factors.at(t, l).begin(), kFactors, exact.begin());
    own.apply(exact, random.at(token, at, feature_slot(-1)), value);
    std::transform(value.begin(), value.end(), row(-1), half);
    value = exact;
    for (std::size_t i = 0; i < kChain.size(); ++i) {
      const auto purpose = static_cast<std::uint32_t>(feature_slot(kChain[i]));
      blurs[i].apply(value, random.at(token, at, purpose), value);
      std::transform(value.begin(), value.end(), row(kChain[i]), half);
    }
    const std::uint64_t nuisance = random.at(token, at, kNuisance);
    for (std::size_t d = kFactors; d < hidden; ++d) {
      rows[d] = half(Deviates::table().of(nuisance, d) >> kNuisanceBits);
    }
    for (std::size_t slot = 1; slot < kFeatures; ++slot) {
      std::copy(rows + kFactors, rows + hidden, rows + slot * hidden + kFactors);
    }
  }
}

}  // namespace leanstream::traces
