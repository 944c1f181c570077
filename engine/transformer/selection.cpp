#include "engine/transformer/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "engine/base/check.h"
#include "engine/model/density.h"

namespace leanstream::transformer {

void select_active(std::span<const float> importance, const SelectionRule& rule, BlockSet& active) {
  LEANSTREAM_CHECK(rule.unit_neurons >= 1 && !importance.empty(), "units of {} neurons",
                   rule.unit_neurons);
  LEANSTREAM_CHECK(active.size() == static_cast<BlockId>(importance.size()), "set of {}",
                   active.size());
  const auto width = static_cast<std::size_t>(rule.unit_neurons);
  // Floats that are not negative are ordered like their bits, which are ordered even for a NaN.
  std::vector<std::uint32_t> keys((importance.size() + width - 1) / width);
  for (std::size_t unit = 0; unit < keys.size(); ++unit) {
    const std::size_t last = std::min(importance.size(), (unit + 1) * width);
    float sum = importance[unit * width];
    for (std::size_t j = unit * width + 1; j < last; ++j) sum += importance[j];
    keys[unit] = std::bit_cast<std::uint32_t>(std::abs(sum));
  }
  auto sorted = keys;
  const auto kept = model::kept_count(rule.density, static_cast<std::int32_t>(keys.size()));
  const auto kth = sorted.begin() + (kept - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  const std::uint32_t threshold = *kth;
  auto tied = kept - std::count_if(sorted.begin(), kth, [=](auto key) { return key > threshold; });
  active.clear();
  for (std::size_t unit = 0; unit < keys.size(); ++unit) {
    if (keys[unit] < threshold || (keys[unit] == threshold && tied-- <= 0)) continue;
    const std::size_t last = std::min(importance.size(), (unit + 1) * width);
    for (std::size_t j = unit * width; j < last; ++j) active.set(static_cast<BlockId>(j));
  }
}

}  // namespace leanstream::transformer
