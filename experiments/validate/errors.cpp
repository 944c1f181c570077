#include "experiments/validate/errors.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/median.h"

namespace leanstream::validate {
namespace {

using Values = std::vector<double>;

constexpr double kApart = 0.10;  // systems that differ by more have an order

// Of the runs of a cell that count.
Values values_of(const report::CsvTable& table, std::size_t cell, const std::string& metric) {
  const bool chosen = table.column("counts").has_value();
  const std::string number = std::to_string(cell);
  Values values;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cell") != number || !table.text(row, "failure").empty()) continue;
    if (chosen && table.text(row, "counts") != "yes") continue;
    if (const auto value = table.number(row, metric)) values.push_back(*value);
  }
  return values;
}

std::optional<double> error_of(double simulated, double measured) {
  if (measured != 0) return simulated / measured - 1;
  return simulated == 0 ? std::optional<double>(0) : std::nullopt;
}

const Comparison* find(const std::vector<Comparison>& all, std::size_t cell,
                       const std::string& metric) {
  const auto found = std::ranges::find_if(
      all, [&](const Comparison& c) { return c.cell == cell && c.metric == metric; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<std::string>& compared_metrics() {
  static const std::vector<std::string> names{
      "tokens_per_s", "tpot_ms_mean", "tpot_ms_p50",       "tpot_ms_p90",      "tpot_ms_p99",
      "prefill_ms",   "bytes_read",   "miss_ratio_demand", "miss_ratio_final", "overlap_ratio"};
  return names;
}

std::optional<double> half_range(const Values& values) {
  const double middle = median(values);
  if (middle == 0) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  return (most - least) / 2 / middle;
}

double nine_of_ten(Values values) {
  LEANSTREAM_CHECK(!values.empty(), "a rank of nothing");
  std::ranges::sort(values);
  return values[(values.size() * 9 + 9) / 10 - 1];
}

std::vector<Comparison> compare(std::size_t cells, const report::CsvTable& measured,
                                const report::CsvTable& simulated) {
  std::vector<Comparison> all;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (const auto& metric : compared_metrics()) {
      Comparison& one = all.emplace_back(Comparison{.cell = cell, .metric = metric});
      const Values real = values_of(measured, cell, metric);
      const Values model = values_of(simulated, cell, metric);
      one.runs = real.size();
      if (!real.empty()) {
        one.measured = median(real);
        one.half_range = half_range(real);
      }
      if (!model.empty()) one.simulated = median(model);
      if (one.measured && one.simulated) one.error = error_of(*one.simulated, *one.measured);
    }
  }
  return all;
}

std::vector<MetricSummary> summarise(const std::vector<Comparison>& comparisons) {
  std::vector<MetricSummary> summaries;
  for (const auto& metric : compared_metrics()) {
    MetricSummary summary{.metric = metric};
    Values errors, ranges;
    for (const Comparison& c : comparisons) {
      if (c.metric != metric) continue;
      if (c.half_range) ranges.push_back(*c.half_range);
      if (!c.error) continue;
      errors.push_back(std::abs(*c.error));
      if (errors.size() > 1 && errors.back() <= std::abs(summary.worst)) continue;
      summary.worst = *c.error;
      summary.worst_cell = c.cell;
    }
    if (errors.empty()) continue;
    summary.cells = errors.size();
    summary.median_error = median(errors);
    summary.nine_of_ten = nine_of_ten(errors);
    if (!ranges.empty()) summary.median_half_range = median(ranges);
    summaries.push_back(summary);
  }
  return summaries;
}

const MetricSummary* find(const std::vector<MetricSummary>& summaries, const std::string& metric) {
  const auto found = std::ranges::find(summaries, metric, &MetricSummary::metric);
  return found == summaries.end() ? nullptr : &*found;
}

OrderCheck check_order(const std::vector<Comparison>& comparisons,
                       const std::vector<std::string>& cases) {
  OrderCheck check;
  for (std::size_t a = 0; a < cases.size(); ++a) {
    for (std::size_t b = a + 1; b < cases.size(); ++b) {
      if (cases[a] != cases[b]) continue;
      const Comparison* faster = find(comparisons, a, "tpot_ms_mean");
      const Comparison* slower = find(comparisons, b, "tpot_ms_mean");
      if (!faster || !slower || !faster->error || !slower->error) continue;
      if (*faster->measured > *slower->measured) std::swap(faster, slower);
      const double measured = *slower->measured / *faster->measured;
      if (measured <= 1 + kApart) continue;
      ++check.pairs;
      const double simulated = *slower->simulated / *faster->simulated;
      if (simulated > 1) continue;
      check.violations.push_back({faster->cell, slower->cell, measured, simulated});
    }
  }
  return check;
}

std::vector<Verdict> verdicts(const std::vector<Comparison>& comparisons, const OrderCheck& order) {
  std::vector<Verdict> all;
  const auto summaries = summarise(comparisons);
  if (const MetricSummary* time = find(summaries, "tpot_ms_mean")) {
    const double bound = std::max(0.05, time->median_half_range);
    all.push_back({fmt::format("median |error| of time per token {:.1f} %, at most {:.1f} % (5 %, "
                               "or the hardware's own median half-range)",
                               100 * time->median_error, 100 * bound),
                   time->median_error <= bound});
    all.push_back(
        {fmt::format("9 of 10 cells within {:.1f} %, at most 10 %", 100 * time->nine_of_ten),
         time->nine_of_ten <= 0.10});
  }
  std::size_t known = 0, within = 0;
  for (const Comparison& c : comparisons) {
    if (c.metric != "tpot_ms_p99" || !c.error) continue;
    ++known;
    if (std::abs(*c.error) <= std::max(0.20, c.half_range.value_or(0))) ++within;
  }
  all.push_back({fmt::format("99th percentile of time per token within 20 % or the hardware's own "
                             "half-range in {} of {} cells",
                             within, known),
                 within == known});
  all.push_back({fmt::format("{} of {} pairs of systems that differ by more than 10 % in the same "
                             "order",
                             order.pairs - order.violations.size(), order.pairs),
                 order.violations.empty()});
  return all;
}

}  // namespace leanstream::validate
