#include "traces/overlap_pairs.h"

#include <algorithm>
#include <cmath>

namespace leanstream::traces {
namespace {

constexpr TokenId kApart = 16;

void add_pair(LayerPairs& layer, TokenId first, TokenId second, bool same, TokenId all,
              std::int64_t common) {
  const TokenId lag = second - first;
  if (same) {
    if (lag >= std::min(kApart, all / 4)) layer.same.add(common);
    return;
  }
  const auto at = std::lower_bound(kLagClasses.begin(), kLagClasses.end(), lag);
  if (at != kLagClasses.end()) {
    const auto i = static_cast<std::size_t>(at - kLagClasses.begin());
    layer.by_lag[i].add(common);
    layer.lag_sum[i] += lag;
  }
  if (lag >= all / 4) layer.different.add(common);
  if (second < all / 2) return;
  if (first > 0 && first < kEarlyTokens)
    layer.early_late[static_cast<std::size_t>(first)].add(common);
  if (first >= all / 4 && first < all / 2) layer.mid_late.add(common);
}

}  // namespace

double Common::variance() const {
  if (pairs < 2) return 0;
  const double m = mean();
  return std::max(0.0, static_cast<double>(squares) / static_cast<double>(pairs) - m * m);
}

void OverlapPairs::add(const SetSequence& sets, std::span<const std::int32_t> tokens) {
  const auto layers = static_cast<LayerId>(layers_.size());
  std::vector<std::int64_t> common(layers_.size());
  for (TokenId second = 1; second < sets.tokens(); ++second) {
    for (TokenId first = 0; first < second; ++first) {
      const bool same = !tokens.empty() && tokens[static_cast<std::size_t>(first)] ==
                                               tokens[static_cast<std::size_t>(second)];
      for (LayerId l = 0; l < layers; ++l) {
        const auto at = static_cast<std::size_t>(l);
        common[at] = sets.at(first, l).count_common(sets.at(second, l));
        add_pair(layers_[at], first, second, same, sets.tokens(), common[at]);
      }
      if (same || second - first < sets.tokens() / 4) continue;
      for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
        layers_[l].far_with_next += common[l] * common[l + 1];
      }
    }
  }
}

double OverlapPairs::correlation_with_next(LayerId l, double real_share,
                                           double real_share_next) const {
  const auto at = static_cast<std::size_t>(l);
  const Common& a = layers_[at].different;
  const Common& b = layers_[at + 1].different;
  const double noise_free = std::sqrt(a.variance() * real_share * b.variance() * real_share_next);
  if (a.pairs == 0 || noise_free <= 0) return 0;
  const double product =
      static_cast<double>(layers_[at].far_with_next) / static_cast<double>(a.pairs);
  return std::clamp((product - a.mean() * b.mean()) / noise_free, 0.0, 1.0);
}

}  // namespace leanstream::traces
