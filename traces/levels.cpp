#include "traces/levels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "engine/base/check.h"

namespace leanstream::traces {
namespace {

constexpr int kTopCode = model::kLevels - 1;
constexpr double kTokenShareOutside = 0.05;  // on each side of the fine region
constexpr float kZeroBelow = 1e-20F;         // a layer whose largest importance is less is zero
constexpr double kFarBelowTop = 1e-12;       // a `high` this far below the top says nothing

// The rank-th largest of `row` (rank ≥ 1); reorders it.
float threshold(std::vector<float>& row, std::size_t rank) {
  const auto at = row.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(row.begin(), at, row.end(), std::greater<>());
  return *at;
}

std::size_t rank_at(double density, std::size_t ffn) {
  const auto rank = static_cast<std::size_t>(std::llround(density * static_cast<double>(ffn)));
  return std::clamp<std::size_t>(rank, 1, ffn);
}

float percentile(std::vector<float>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto nth = values.begin() + std::llround(at);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// a · (b ÷ a)^(part ÷ parts), for a > 0.
float between(double a, double b, int part, int parts) {
  return static_cast<float>(a * std::pow(b / a, static_cast<double>(part) / parts));
}

}  // namespace

LevelRegion fit_region(std::span<const float> importance, std::size_t tokens, std::size_t ffn,
                       std::size_t stride) {
  LEANSTREAM_CHECK(tokens > 0 && ffn > 0 && importance.size() >= (tokens - 1) * stride + ffn,
                   "{} importances for {} tokens of {}", importance.size(), tokens, ffn);
  std::vector<float> low(tokens), high(tokens), row(ffn);
  LevelRegion region;
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto values = importance.subspan(t * stride, ffn);
    row.assign(values.begin(), values.end());
    low[t] = threshold(row, rank_at(kLowDensity, ffn));
    high[t] = threshold(row, rank_at(kHighDensity, ffn));
    region.top = std::max(region.top, *std::max_element(row.begin(), row.end()));
  }
  if (region.top < kZeroBelow) return {};
  region.low = percentile(low, kTokenShareOutside);
  region.high = percentile(high, 1 - kTokenShareOutside);
  // Fewer than 3 % of the neurons fire in nearly all tokens.
  if (region.high < region.top * kFarBelowTop) region.high = region.top;
  region.low = std::max(region.low, static_cast<float>(region.high / kWidestFineRegion));
  return region;
}

LevelTable make_levels(const LevelRegion& region, const LevelSplit& split) {
  LevelTable levels{};
  if (region.top == 0) return levels;
  LEANSTREAM_CHECK(0 < region.low && region.low <= region.high && region.high <= region.top,
                   "levels from {} to {} of at most {}", region.low, region.high, region.top);
  const double lowest = region.low / split.lowest_below_low;
  for (int c = 1; c <= kTopCode; ++c) {
    float& level = levels[static_cast<std::size_t>(c)];
    if (c < split.first_fine_code) {
      level = between(lowest, region.low, c - 1, split.first_fine_code - 1);
    } else if (c <= kLastFineCode) {
      level = between(region.low, region.high, c - split.first_fine_code,
                      kLastFineCode - split.first_fine_code);
    } else {
      level = between(region.high, region.top, c - kLastFineCode, kTopCode - kLastFineCode);
    }
    // Rounding to float must not break the order.
    level = std::max(level, levels[static_cast<std::size_t>(c - 1)]);
  }
  return levels;
}

Quantiser::Quantiser(const LevelTable& levels) {
  borders_[0] = levels[1] / 2;
  for (std::size_t c = 1; c < borders_.size(); ++c) {
    borders_[c] = static_cast<float>(
        std::sqrt(static_cast<double>(levels[c]) * static_cast<double>(levels[c + 1])));
  }
  if (levels.back() == 0) borders_.fill(HUGE_VALF);  // a layer of zeros: code 0
}

std::uint8_t Quantiser::code(float s) const {
  const auto above = std::upper_bound(borders_.begin(), borders_.end(), s);
  return static_cast<std::uint8_t>(above - borders_.begin());
}

LevelError guaranteed_error(const LevelRegion& region) {
  if (region.top == 0) return {};
  const auto half_step = [](double ratio, int steps) { return std::pow(ratio, 0.5 / steps) - 1; };
  const double low = region.low, high = region.high, top = region.top;
  return {.below = half_step(kLowestBelowLow, kFirstFineCode - 1),
          .fine = half_step(high / low, kLastFineCode - kFirstFineCode),
          .above = half_step(top / high, kTopCode - kLastFineCode)};
}

}  // namespace leanstream::traces
