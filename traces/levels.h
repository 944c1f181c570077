// The 256 importances that the codes of one layer stand for, and the quantiser.
//
// Sets are decided on codes, so what matters is how few neurons share the code at the threshold of
// a token's active set. Codes are therefore spent where densities 0.05 … 0.6 have their threshold:
//
//   code        level                                    relative error of a stored importance
//   0           0                                        absolute: below level[1] ÷ 2
//   1 … 31      low  · 1000^(−(32 − c) ÷ 31)             ≤ 11.8 %
//   32 … 232    low  · (high ÷ low)^((c − 32) ÷ 200)     ≤ (high ÷ low)^(1 ÷ 400) − 1 ≤ 1.4 %
//   233 … 255   high · (top ÷ high)^((c − 232) ÷ 23)     ≤ (top ÷ high)^(1 ÷ 46) − 1
//
// low and high are taken from the thresholds of the layer's tokens (fit_region), top is the largest
// importance of the layer; high ÷ low ≤ 256.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/model/activations.h"

namespace leanstream::traces {

inline constexpr int kFirstFineCode = 32;
inline constexpr int kLastFineCode = 232;
inline constexpr double kLowestBelowLow = 1000.0;   // low ÷ level[1]
inline constexpr double kWidestFineRegion = 256.0;  // high ÷ low
inline constexpr double kLowDensity = 0.65;
inline constexpr double kHighDensity = 0.03;

using LevelTable = std::array<float, model::kLevels>;

// Where the fine steps lie; 0 ≤ low ≤ high ≤ top, all in the unit of the importances.
struct LevelRegion {
  float low = 0;
  float high = 0;
  float top = 0;
};

// The region for importances of one layer: `importance` holds `tokens` rows of `ffn` finite values
// ≥ 0, row t at importance[t · stride]. A token's threshold at density ρ is its round(ρ·ffn)-th
// largest importance; low is the 5th percentile over tokens of the thresholds at density 0.65
// (raised to high ÷ 256 when lower), high the 95th of those at 0.03 (top when that is
// below top ÷ 10¹²). All zero when top is below 10⁻²⁰: then every code is 0.
LevelRegion fit_region(std::span<const float> importance, std::size_t tokens, std::size_t ffn,
                       std::size_t stride);

// Where the fine steps begin, and how far below them the lowest level lies.
struct LevelSplit {
  int first_fine_code = kFirstFineCode;
  double lowest_below_low = kLowestBelowLow;  // low ÷ level[1]
};
// More codes to small importances, for distributions that reach down to 0: errors ≤ 2.5 % down to a
// thirtieth of the importance at density 0.65.
inline constexpr LevelSplit kEvenSplit = {.first_fine_code = 72, .lowest_below_low = 30};

// The table above, or one of another split. A layer of zeros gets 256 zeros.
LevelTable make_levels(const LevelRegion& region, const LevelSplit& split = {});

// Rounds to the nearest level in log space; below level[1] ÷ 2 the code is 0.
class Quantiser {
 public:
  explicit Quantiser(const LevelTable& levels);
  // s finite and ≥ 0.
  std::uint8_t code(float s) const;

 private:
  std::array<float, model::kLevels - 1> borders_;  // code = number of borders ≤ s
};

// The largest relative error of a stored importance in the three regions (formulas above).
struct LevelError {
  double below = 0;
  double fine = 0;
  double above = 0;
};
LevelError guaranteed_error(const LevelRegion& region);

}  // namespace leanstream::traces
