// How far a simulation is from what was measured. Works on the tables of a bundle alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/csv.h"

namespace leanstream::validate {

// What is compared, by their names in results.csv.
const std::vector<std::string>& compared_metrics();

// (largest − smallest) ÷ 2 ÷ median: what repeated runs leave open. Nothing when the median is 0.
std::optional<double> half_range(const std::vector<double>& values);
// The least bound that nine of ten keep, by nearest rank; of at least one value.
double nine_of_ten(std::vector<double> values);

// One metric of one cell.
struct Comparison {
  std::size_t cell = 0;
  std::string metric;
  std::size_t runs = 0;                // on hardware, that count
  std::optional<double> measured{};    // median
  std::optional<double> half_range{};  // of the runs that count
  std::optional<double> simulated{};   // median
  std::optional<double> error{};       // simulated ÷ measured − 1
};

// Cell by cell, metrics in their order. `measured` has the column `counts` ("yes" where a run
// does), both have `cell`, `failure` (runs that failed have no figures) and the metrics.
std::vector<Comparison> compare(std::size_t cells, const report::CsvTable& measured,
                                const report::CsvTable& simulated);

struct MetricSummary {
  std::string metric;
  std::size_t cells = 0;                     // whose error is known
  double median_error = 0, nine_of_ten = 0;  // of |error|
  double worst = 0;                          // signed
  std::size_t worst_cell = 0;
  double median_half_range = 0;
};
// Metrics of which no cell is known are left out.
std::vector<MetricSummary> summarise(const std::vector<Comparison>& comparisons);
const MetricSummary* find(const std::vector<MetricSummary>& summaries, const std::string& metric);

// Cells that differ in their systems alone, and by more than 10 % of time per token on hardware.
struct OrderCheck {
  std::size_t pairs = 0;
  struct Violation {
    std::size_t faster = 0, slower = 0;  // cells, by what was measured
    double measured = 0, simulated = 0;  // time of the slower ÷ time of the faster
  };
  std::vector<Violation> violations;
};
// `cases`: of each cell, what it has in common with those it is compared with.
OrderCheck check_order(const std::vector<Comparison>& comparisons,
                       const std::vector<std::string>& cases);

// What the model of a device must hold (issue: a simulator that can be trusted).
struct Verdict {
  std::string text;  // the rule, and the figures
  bool holds = false;
};
std::vector<Verdict> verdicts(const std::vector<Comparison>& comparisons, const OrderCheck& order);

}  // namespace leanstream::validate
