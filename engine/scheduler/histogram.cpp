#include "engine/scheduler/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/check.h"

namespace leanstream::scheduler {

void Histogram::add(std::int64_t value) {
  LEANSTREAM_CHECK(value >= 0, "value {}", value);
  const auto v = static_cast<std::uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(v)) - 1 - kBits);
  const std::size_t bin = (static_cast<std::size_t>(shift) << kBits) + (v >> shift);
  ++bins_[std::min(bin, bins_.size() - 1)];
  ++count_;
}

double Histogram::percentile(double share) const {
  LEANSTREAM_CHECK(count_ > 0, "a percentile of nothing");
  const auto rank = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_))));
  std::int64_t below = 0;
  std::size_t bin = 0;
  while ((below += bins_[bin]) < rank) ++bin;
  // Bins below 2 · 2^kBits are one wide; then 2^shift, from (64 … 127) · 2^shift.
  const std::size_t one = std::size_t{1} << kBits;
  const std::size_t shift = bin < 2 * one ? 0 : (bin >> kBits) - 1;
  const double low =
      std::ldexp(static_cast<double>(bin - (shift << kBits)), static_cast<int>(shift));
  return low + (std::ldexp(1.0, static_cast<int>(shift)) - 1) / 2;
}

}  // namespace leanstream::scheduler
