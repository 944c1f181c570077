// Normal deviates in fixed point, for processes that must give equal bytes everywhere.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engine/base/hash.h"
#include "engine/base/normal.h"

namespace leanstream::traces {

inline constexpr int kScoreBits = 12;   // fractional bits of scores and deviates
inline constexpr int kWeightBits = 14;  // of what deviates are multiplied by

inline std::int64_t rounded(double value, int bits) {
  return std::llround(value * static_cast<double>(std::int64_t{1} << bits));
}

// A normal deviate for each 16-bit word: the quantile at the middle of its share.
class Deviates {
 public:
  static constexpr std::size_t kWords = 1 << 16;

  static const Deviates& table() {
    static const Deviates deviates;
    return deviates;
  }

  // The k-th of a row of deviates.
  std::int32_t of(std::uint64_t row, std::size_t k) const {
    return of_[mix(row, k / 4) >> (16 * (k % 4)) & 0xFFFF];
  }
  // Calls use(k, deviate) for the first `count` (a multiple of 4) of a row.
  template <typename Use>
  void for_each(std::uint64_t row, std::size_t count, Use use) const {
    for (std::size_t k = 0; k < count; k += 4) {
      const std::uint64_t word = mix(row, k / 4);
      for (std::size_t i = 0; i < 4; ++i) {
        use(k + i, std::int32_t{of_[word >> (16 * i) & 0xFFFF]});
      }
    }
  }

 private:
  Deviates() {
    for (std::size_t i = 0; i < kWords / 2; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / kWords;
      const auto value = static_cast<std::int16_t>(rounded(normal_quantile(p), kScoreBits));
      of_[i] = value;
      of_[kWords - 1 - i] = static_cast<std::int16_t>(-value);
    }
  }

  std::array<std::int16_t, kWords> of_{};
};

}  // namespace leanstream::traces
