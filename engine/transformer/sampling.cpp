#include "engine/transformer/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/base/check.h"

namespace leanstream::transformer {
namespace {

float sortable(float logit) {
  return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
}

}  // namespace

std::int32_t sample(std::span<const float> logits, const SamplingRule& rule, RandomStream& random) {
  LEANSTREAM_CHECK(!logits.empty() && rule.temperature >= 0 && rule.top_k >= 0, "{} logits",
                   logits.size());
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) {
    return sortable(logits[static_cast<std::size_t>(id)]);
  };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float la = logit(a), lb = logit(b);
    return la != lb ? la > lb : a < b;
  };
  if (rule.temperature == 0) return *std::min_element(ids.begin(), ids.end(), likelier);
  const std::size_t kept =
      rule.top_k == 0 ? ids.size() : std::min(ids.size(), static_cast<std::size_t>(rule.top_k));
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                    likelier);
  std::vector<double> weights(kept);
  const double most = double{logit(ids[0])};
  for (std::size_t i = 0; i < kept; ++i) {
    weights[i] = std::exp((double{logit(ids[i])} - most) / rule.temperature);
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t last = 0;
  double sum = weights[0];
  while (last + 1 < kept && sum < rule.top_p * all) sum += weights[++last];
  double left = random.next_unit() * sum;
  for (std::size_t i = 0; i < last; ++i) {
    left -= weights[i];
    if (left < 0) return ids[i];
  }
  return ids[last];
}

}  // namespace leanstream::transformer
