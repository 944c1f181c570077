#include "platforms/probe/fit_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "engine/base/check.h"

namespace leanstream::probe {
namespace {

using Row = std::vector<double>;

constexpr double kLeastWorth = 0.001;  // by so much a cost must better the error

// Solves a x = b by elimination with the largest pivot; nothing where a is singular.
std::optional<Row> solve(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r) {
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    }
    if (std::abs(a[pivot][i]) < 1e-10) return std::nullopt;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c < n; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) b[i] /= a[i][i];
  return b;
}

// Rows of relative amounts, columns scaled to length 1 so that bytes and counts are alike.
struct Scaled {
  std::vector<Row> rows;
  Row lengths;
};

Scaled scaled(std::span<const Timed> times) {
  Scaled s;
  s.lengths.assign(times[0].amounts.size(), 0);
  for (const Timed& time : times) {
    LEANSTREAM_CHECK(time.seconds > 0 && time.amounts.size() == s.lengths.size(),
                     "{} amounts in {} s", time.amounts.size(), time.seconds);
    Row& row = s.rows.emplace_back(time.amounts);
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] /= time.seconds;
      s.lengths[i] += row[i] * row[i];
    }
  }
  for (double& length : s.lengths) length = std::sqrt(length);
  for (Row& row : s.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] /= s.lengths[i] > 0 ? s.lengths[i] : 1;
  }
  return s;
}

// The least squares with the columns of a set alone; nothing where one of them is negative.
std::optional<Row> fit_of(const Scaled& s, std::uint32_t set) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < s.lengths.size(); ++i) {
    if ((set >> i & 1) != 0) columns.push_back(i);
  }
  std::vector<Row> a(columns.size(), Row(columns.size()));
  Row b(columns.size());
  for (const Row& row : s.rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      b[i] += row[columns[i]];
      for (std::size_t j = 0; j < columns.size(); ++j) a[i][j] += row[columns[i]] * row[columns[j]];
    }
  }
  const auto solved = solve(std::move(a), std::move(b));
  if (!solved) return std::nullopt;
  Row all(s.lengths.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if ((*solved)[i] < 0) return std::nullopt;
    all[columns[i]] = (*solved)[i];
  }
  return all;
}

Row errors_of(const Scaled& s, const Row& x) {
  Row errors;
  for (const Row& row : s.rows) {
    double model = 0;
    for (std::size_t i = 0; i < x.size(); ++i) model += row[i] * x[i];
    errors.push_back(model - 1);
  }
  return errors;
}

double root_mean_square(const Row& errors) {
  double squares = 0;
  for (const double error : errors) squares += error * error;
  return std::sqrt(squares / static_cast<double>(errors.size()));
}

}  // namespace

TimeFit fit_times(std::span<const Timed> times) {
  LEANSTREAM_CHECK(!times.empty() && times[0].amounts.size() <= 10, "{} times", times.size());
  const Scaled s = scaled(times);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TimeFit best;
  double least = kInfinity;
  Row without(s.lengths.size(), kInfinity);
  for (std::uint32_t set = 1; set < 1U << s.lengths.size(); ++set) {
    const auto x = fit_of(s, set);
    if (!x) continue;
    Row errors = errors_of(s, *x);
    const double error = root_mean_square(errors);
    for (std::size_t i = 0; i < without.size(); ++i) {
      if ((set >> i & 1) == 0) without[i] = std::min(without[i], error);
    }
    const double charged = error + kLeastWorth * std::popcount(set);
    if (charged >= least) continue;
    least = charged;
    best = {*x, std::move(errors), error, {}};
  }
  LEANSTREAM_CHECK(!best.costs.empty(), "{} times say nothing", times.size());
  best.error_without = std::move(without);
  for (std::size_t i = 0; i < best.costs.size(); ++i) {
    if (best.costs[i] == 0) best.error_without[i] = best.error;
    if (s.lengths[i] > 0) best.costs[i] /= s.lengths[i];
  }
  return best;
}

}  // namespace leanstream::probe
