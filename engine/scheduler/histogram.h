// Counts of non-negative values in bins that are a 64th of an octave wide or one: percentiles
// within 1.6 % at a fixed size.
#pragma once

#include <array>
#include <cstdint>

namespace leanstream::scheduler {

class Histogram {
 public:
  void add(std::int64_t value);
  void clear() { *this = {}; }
  std::int64_t count() const { return count_; }
  // Nearest-rank percentile, the middle of its bin; share in (0, 1], count() > 0.
  double percentile(double share) const;

 private:
  static constexpr int kBits = 6;
  static constexpr std::size_t kOctaves = 48;

  std::int64_t count_ = 0;
  std::array<std::int64_t, (kOctaves + 1) << kBits> bins_{};
};

}  // namespace leanstream::scheduler
