#include "traces/latent_factors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "traces/deviates.h"

namespace leanstream::traces {
namespace {

constexpr int kStateBits = 20;  // of what lasts
constexpr int kCarryBits = 24;
constexpr std::uint32_t kMostAttempts = 16;
constexpr std::int32_t kNewTokens = 1 << 20;  // ids of tokens that are not frequent

// What a draw is for: the third coordinate of the stream. Parts that last come from kLasting on.
enum Purpose : std::uint32_t { kText, kIdentity, kFresh, kDirection, kHeat, kLoading, kLasting };

using Vector = std::array<std::int32_t, kFactors>;

// Parts of one vector, layer by layer: each layer's deviates keep something of the layer before's.
class Chain {
 public:
  explicit Chain(double carry)
      : carry_(rounded(carry, kWeightBits)),
        innovation_(rounded(std::sqrt(1 - carry * carry), kWeightBits)) {}

  const Vector& next(std::uint64_t row) {
    Deviates::table().for_each(row, kFactors, [&](std::size_t k, std::int32_t deviate) {
      value_[k] = first_ ? deviate
                         : static_cast<std::int32_t>((carry_ * value_[k] + innovation_ * deviate) >>
                                                     kWeightBits);
    });
    first_ = false;
    return value_;
  }

 private:
  std::int64_t carry_, innovation_;
  bool first_ = true;
  Vector value_{};
};

// One length of memory: a state for each layer.
class Memory {
 public:
  Memory(double tokens, std::size_t layers) : states_(layers) {
    const double carry = std::exp(-1 / tokens);
    carry_ = rounded(carry, kCarryBits);
    innovation_ = rounded(std::sqrt(1 - carry * carry), kCarryBits);
  }

  const Vector& next(std::size_t l, const Vector& deviates, bool first) {
    Vector& state = states_[l];
    for (std::size_t k = 0; k < kFactors; ++k) {
      const std::int64_t deviate = std::int64_t{deviates[k]} << (kStateBits - kScoreBits);
      state[k] = static_cast<std::int32_t>(
          first ? deviate : (carry_ * state[k] + innovation_ * deviate + kHalf) >> kCarryBits);
      out_[k] = state[k] >> (kStateBits - kScoreBits);
    }
    return out_;
  }

 private:
  static constexpr std::int64_t kHalf = std::int64_t{1} << (kCarryBits - 1);

  std::int64_t carry_, innovation_;
  std::vector<Vector> states_;
  Vector out_{};
};

std::int64_t root(double share) {
  return rounded(std::sqrt(share), kWeightBits);
}

// Draws from the fit's shares, anew where a token would follow itself; what is left of 1 are tokens
// of which each is new.
std::vector<std::int32_t> draw_text(const std::vector<double>& shares, TokenId tokens,
                                    const RandomStream& random) {
  std::vector<std::uint32_t> ends;
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    ends.push_back(static_cast<std::uint32_t>(std::min(rounded(sum, 32), rounded(1, 32) - 1)));
  }
  const auto frequent = static_cast<std::int32_t>(ends.size());
  const auto draw = [&](TokenId t, std::uint32_t attempt) {
    const std::uint64_t word = random.at(static_cast<std::uint32_t>(t), attempt, kText);
    const auto at = std::upper_bound(ends.begin(), ends.end(), static_cast<std::uint32_t>(word));
    return at != ends.end() ? static_cast<std::int32_t>(at - ends.begin())
                            : frequent + static_cast<std::int32_t>((word >> 32) % kNewTokens);
  };
  std::vector<std::int32_t> text;
  for (TokenId t = 0; t < tokens; ++t) {
    std::int32_t token = draw(t, 0);
    for (std::uint32_t i = 1; t > 0 && token == text.back() && i < kMostAttempts; ++i) {
      token = draw(t, i);
    }
    text.push_back(token);
  }
  return text;
}

// Falling variances λ_k ∝ q^k whose (Σλ)² ÷ Σλ² is `effective`, or all alike for that many or more.
std::array<double, kFactors> spectrum(double effective) {
  const auto powers = [](double q) {
    std::array<double, kFactors> all{};
    double power = 1;
    for (double& p : all) {
      p = power;
      power *= q;
    }
    return all;
  };
  double low = 0, high = 1;
  for (int i = 0; i < 50; ++i) {
    const double q = 0.5 * (low + high);
    double sum = 0, squares = 0;
    for (const double p : powers(q)) {
      sum += p;
      squares += p * p;
    }
    (sum * sum / squares < effective ? low : high) = q;
  }
  return powers(effective >= kFactors ? 1 : 0.5 * (low + high));
}

}  // namespace

LatentFactors::LatentFactors(const ActivationFit& process, TokenId tokens,
                             const RandomStream& random)
    : layers_(process.layers.size()),
      tokens_(draw_text(process.token_shares, tokens, random)),
      factors_(static_cast<std::size_t>(tokens) * layers_ * kFactors) {
  std::vector<Memory> memories;
  for (const double fade : process.lasting_tokens) memories.emplace_back(fade, layers_);
  for (std::uint32_t t = 0; t < static_cast<std::uint32_t>(tokens); ++t) {
    Chain identity(process.layer_carry), fresh(process.layer_carry), direction(process.layer_carry);
    std::vector<Chain> lasting(memories.size(), Chain(process.layer_carry));
    for (std::uint32_t l = 0; l < layers_; ++l) {
      const FitLayer& layer = process.layers[l];
      std::array<std::int64_t, kFactors> sum{};
      const auto add = [&](double share, const Vector& part) {
        const std::int64_t weight = root(share);
        for (std::size_t k = 0; k < kFactors; ++k) sum[k] += weight * part[k];
      };
      add(layer.token,
          identity.next(random.at(static_cast<std::uint32_t>(tokens_[t]), l, kIdentity)));
      add(layer.fresh(), fresh.next(random.at(t, l, kFresh)));
      add(layer.position * std::exp(-2.0 * t / kPositionTokens),
          direction.next(random.at(0, l, kDirection)));
      for (std::uint32_t i = 0; i < memories.size(); ++i) {
        add(layer.lasting[i],
            memories[i].next(l, lasting[i].next(random.at(t, l, kLasting + i)), t == 0));
      }
      std::int16_t* out = &factors_[(t * layers_ + l) * kFactors];
      for (std::size_t k = 0; k < kFactors; ++k) {
        out[k] = static_cast<std::int16_t>(
            std::clamp<std::int64_t>(sum[k] >> kWeightBits, -INT16_MAX, INT16_MAX));
      }
    }
  }
}

Loadings::Loadings(const FitLayer& layer, LayerId l, std::int32_t ffn, const RandomStream& random) {
  const auto variances = spectrum(layer.factors);
  std::array<double, kFactors> deviation{};
  std::transform(variances.begin(), variances.end(), deviation.begin(),
                 [](double v) { return std::sqrt(v); });
  const auto at = static_cast<std::uint32_t>(l);
  // Every quantile once, in a random order.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(ffn); ++j) {
    order.emplace_back(random.at(j, at, kHeat), j);
  }
  std::sort(order.begin(), order.end());
  constant_.resize(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double share = (static_cast<double>(rank) + 0.5) / ffn;
    constant_[order[rank].second] =
        static_cast<std::int32_t>(rounded(at_quantile(layer.hot, share), kScoreBits));
  }
  for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(ffn); ++j) {
    std::array<double, kFactors> loading{};
    double squares = 0;
    Deviates::table().for_each(random.at(j, at, kLoading), kFactors,
                               [&](std::size_t k, std::int32_t deviate) {
                                 loading[k] = deviation[k] * deviate;
                                 squares += loading[k] * loading[k];
                               });
    const double length = std::sqrt(squares);
    for (std::size_t k = 0; k < kFactors; ++k) {
      of_.push_back(static_cast<std::int16_t>(rounded(loading[k] / length, kBits)));
    }
  }
}

}  // namespace leanstream::traces
