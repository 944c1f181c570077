// How much the active sets of two tokens have in common, by their distance, identity and position:
// what the fit of a trace is made from. All sums are whole numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/active_sets.h"

namespace leanstream::traces {

// Sum, sum of squares and number of |A ∩ B| over pairs of tokens.
struct Common {
  std::int64_t pairs = 0;
  std::int64_t sum = 0;
  std::int64_t squares = 0;

  void add(std::int64_t common) {
    ++pairs;
    sum += common;
    squares += common * common;
  }
  double mean() const { return pairs == 0 ? 0 : static_cast<double>(sum) / double(pairs); }
  double variance() const;
};

// Upper ends of the classes of distances.
inline constexpr std::array<TokenId, 18> kLagClasses = {1,  2,  3,  4,  6,   8,   12,  16,  24,
                                                        32, 48, 64, 96, 128, 192, 256, 384, 512};
inline constexpr TokenId kEarlyTokens = 32;  // of a trace: tokens 1 … 31 are early

struct LayerPairs {
  std::array<Common, kLagClasses.size()> by_lag;  // pairs of different tokens
  std::array<std::int64_t, kLagClasses.size()> lag_sum{};
  Common same;                                    // pairs of the same token, apart
  Common different;                               // pairs of different tokens, far apart
  std::array<Common, kEarlyTokens> early_late{};  // each early token with the second half
  Common mid_late;                 // one in the second quarter, one in the second half
  std::int64_t far_with_next = 0;  // Σ over `different` of |A ∩ B| · |A ∩ B| one layer on
};

class OverlapPairs {
 public:
  explicit OverlapPairs(LayerId layers) : layers_(static_cast<std::size_t>(layers)) {}

  // All pairs of the sequence's tokens. Tokens are far apart from a quarter of the sequence on,
  // apart from 16 tokens (or a quarter, if that is less). Without `tokens` all are different.
  void add(const SetSequence& sets, std::span<const std::int32_t> tokens);

  const std::vector<LayerPairs>& layers() const { return layers_; }
  // Correlation of |A ∩ B| in neighbouring layers over far pairs, given what of each layer's
  // variance is no noise.
  double correlation_with_next(LayerId l, double real_share, double real_share_next) const;

 private:
  std::vector<LayerPairs> layers_;
};

}  // namespace leanstream::traces
