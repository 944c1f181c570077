#include "platforms/calibration/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "platforms/calibration/closed_loop.h"
#include "platforms/calibration/simplex.h"

namespace leanstream::calibration {
namespace {

constexpr std::size_t kFewestCells = 6;

// What the model can be: which of its parts are there.
struct Form {
  bool batches;
  bool span;
  std::size_t parameters() const { return span ? 5 : 4; }
};

// Logarithms: latency in s, stream bandwidth, the rest of the bandwidth, overhead, span. Any point
// is a valid device.
platform::Flash device_at(const Point& at, const Form& form, platform::Flash flash,
                          std::int32_t deepest) {
  const auto positive = [](double log) { return std::exp(std::clamp(log, -40.0, 40.0)); };
  const auto bytes = [](double value) { return static_cast<Bytes>(std::min(value, 1e12)); };
  flash.latency_ns = std::max<TimeNs>(1, std::llround(std::min(positive(at[0]), 1.0) * 1e9));
  flash.stream_bandwidth_bytes_per_s = positive(at[1]);
  flash.bandwidth_bytes_per_s = flash.stream_bandwidth_bytes_per_s * (1 + positive(at[2]));
  flash.link_bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
  flash.request_overhead_bytes = std::min<Bytes>(bytes(positive(at[3])), 16'000'000);
  flash.span_bytes = form.span ? bytes(positive(at[4])) : 0;
  flash.batch = form.batches ? deepest : 1;
  return flash;
}

double squares(const platform::Flash& flash, std::span<const Cell> cells) {
  const auto square = [](double model, double measured) {
    const double error = std::log(model / measured);
    return error * error;
  };
  double sum = 0;
  for (const Cell& cell : cells) {
    const auto model = figures_of(flash, cell);
    sum += square(model.requests_per_s, cell.requests_per_s);
    if (cell.p50_s) sum += square(model.p50_s, *cell.p50_s);
  }
  return sum;
}

// Corners to start from: what a device with this table can be like.
std::vector<Point> starts(std::span<const Cell> cells) {
  double shortest_s = kNsPerSecond;
  double fastest = 0;  // bytes/s
  double most = 0;     // bytes in flight
  for (const Cell& cell : cells) {
    const auto bytes = static_cast<double>(cell.bytes);
    shortest_s = std::min(shortest_s, cell.depth / cell.requests_per_s);
    fastest = std::max(fastest, cell.requests_per_s * bytes);
    most = std::max(most, cell.depth * bytes);
  }
  std::vector<Point> all;
  for (const double latency : {shortest_s, shortest_s / 3}) {
    for (const double stream : {fastest, fastest / 2, fastest / 4}) {
      for (const double span : {most / 2, most / 16}) {
        all.push_back(
            {std::log(latency), std::log(stream), std::log(0.5), std::log(3e3), std::log(span)});
      }
    }
  }
  return all;
}

struct Fitted {
  platform::Flash flash;
  double squares = std::numeric_limits<double>::infinity();
};

Fitted fit_form(const Form& form, std::span<const Cell> cells, const platform::Flash& base,
                std::int32_t deepest) {
  const auto cost = [&](const Point& at) {
    return squares(device_at(at, form, base, deepest), cells);
  };
  Fitted best;
  for (Point at : starts(cells)) {
    at.resize(form.parameters());
    for (const double step : {0.3, 0.2, 0.1}) at = minimise(cost, at, step, 400);
    const double its = cost(at);
    if (its < best.squares) best = {device_at(at, form, base, deepest), its};
  }
  return best;
}

// Akaike's criterion for least squares with normal errors of unknown size, corrected for few
// observations (Hurvich and Tsai, Biometrika 76, 1989).
double criterion(double squares, std::size_t observations, std::size_t parameters) {
  const auto n = static_cast<double>(observations);
  const auto k = static_cast<double>(parameters);
  if (n <= k + 1) return std::numeric_limits<double>::infinity();
  return n * std::log(std::max(squares, 1e-12) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

void check_cells(std::span<const Cell> cells) {
  std::set<Bytes> sizes;
  std::set<std::int32_t> depths;
  for (const Cell& cell : cells) {
    sizes.insert(cell.bytes);
    depths.insert(cell.depth);
  }
  if (cells.size() >= kFewestCells && sizes.size() > 1 && depths.size() > 1) return;
  throw UserError(
      "{} measurements of {} sizes and {} depths are too few for a fit; it takes {}, of "
      "two sizes and two depths at least",
      cells.size(), sizes.size(), depths.size(), kFewestCells);
}

void round_figures(platform::Flash& flash) {
  const auto round_bytes = [](Bytes& bytes) {
    bytes = static_cast<Bytes>(std::llround(rounded(static_cast<double>(bytes))));
  };
  flash.latency_ns = std::llround(rounded(static_cast<double>(flash.latency_ns)));
  flash.stream_bandwidth_bytes_per_s = rounded(flash.stream_bandwidth_bytes_per_s);
  flash.bandwidth_bytes_per_s = rounded(flash.bandwidth_bytes_per_s);
  flash.requests_per_s = rounded(flash.requests_per_s);
  round_bytes(flash.request_overhead_bytes);
  round_bytes(flash.span_bytes);
  flash.spread = rounded(flash.spread);
}

}  // namespace

double rounded(double value) {
  // In thousands, as units are, so that the number before the unit is short.
  double unit = 1;
  while (std::abs(value) >= 1e3 * unit && unit < 1e15) unit *= 1e3;
  return std::stod(fmt::format("{:.4g}", value / unit)) * unit;
}

Fit fit(const StorageTable& table, std::span<const Cell> cells, const platform::Flash& base) {
  check_cells(cells);
  Fit result{base};
  double fastest = 0;
  double host_s = std::numeric_limits<double>::infinity();
  std::int32_t deepest = 2;
  for (const Cell& cell : table.cells) {
    deepest =
        std::max(deepest, cell.together ? std::min(cell.depth, base.queue_depth) : cell.depth);
  }
  std::size_t observations = 0;
  std::vector<double> spreads;
  for (const Cell& cell : cells) {
    fastest = std::max(fastest, cell.requests_per_s);
    host_s = std::min(host_s, cell.host_s.value_or(host_s));
    observations += cell.p50_s ? 2 : 1;
    const bool tells_spread = cell.p50_s && (!cell.together || cell.depth == 1);
    if (tells_spread) spreads.push_back(std::log(*cell.p99_s / *cell.p50_s) / kNormal99);
  }
  result.host_known = host_s < kNsPerSecond && 1 / host_s > fastest;
  result.spread_known = !spreads.empty();
  platform::Flash device = base;
  device.requests_per_s = std::max(fastest, result.host_known ? 1 / host_s : base.requests_per_s);
  device.spread = spreads.empty() ? kUnknownSpread : std::min(median(spreads), 2.0);
  double best = std::numeric_limits<double>::infinity();
  for (const Form& form :
       {Form{false, false}, Form{false, true}, Form{true, false}, Form{true, true}}) {
    if (form.batches && !table.one_queue) continue;  // nobody else's ends to be told with
    const Fitted fitted = fit_form(form, cells, device, deepest);
    const double its = criterion(fitted.squares, observations, form.parameters());
    if (its >= best) continue;
    best = its;
    result.flash = fitted.flash;
  }
  round_figures(result.flash);
  result.flash.queue_depth = std::max(base.queue_depth, deepest);
  result.flash.link_bandwidth_bytes_per_s =
      std::max(base.link_bandwidth_bytes_per_s, result.flash.bandwidth_bytes_per_s);
  return result;
}

LoopFigures figures_of(const platform::Flash& flash, const Cell& cell) {
  const auto bytes = static_cast<double>(cell.bytes);
  return cell.together ? together(flash, bytes, cell.depth) : closed_loop(flash, bytes, cell.depth);
}

std::vector<CellErrors> errors(const platform::Flash& flash, std::span<const Cell> cells) {
  std::vector<CellErrors> all;
  for (const Cell& cell : cells) {
    const auto model = figures_of(flash, cell);
    CellErrors one{cell, model.requests_per_s / cell.requests_per_s - 1, {}, {}};
    if (cell.p50_s) one.p50 = model.p50_s / *cell.p50_s - 1;
    if (cell.p99_s) one.p99 = model.p99_s / *cell.p99_s - 1;
    all.push_back(one);
  }
  return all;
}

Summary summarise(std::span<const CellErrors> all) {
  const auto quality = [](std::vector<double> values) -> std::optional<Quality> {
    if (values.empty()) return std::nullopt;
    for (double& value : values) value = std::abs(value);
    return Quality{median(values), *std::max_element(values.begin(), values.end())};
  };
  std::vector<double> rate, p50, p99;
  for (const CellErrors& one : all) {
    rate.push_back(one.rate);
    if (one.p50) p50.push_back(*one.p50);
    if (one.p99) p99.push_back(*one.p99);
  }
  return {all.size(), quality(rate).value_or(Quality{}), quality(p50), quality(p99)};
}

}  // namespace leanstream::calibration
