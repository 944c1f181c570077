// The middle of some values: median and mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/base/check.h"

namespace leanstream {

// Of at least one value; the mean of the middle two where there are two.
inline double median(std::vector<double> values) {
  LEANSTREAM_CHECK(!values.empty(), "the median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

// Of at least one value.
inline double mean(const std::vector<double>& values) {
  LEANSTREAM_CHECK(!values.empty(), "the mean of nothing");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace leanstream
