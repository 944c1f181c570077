// What a bundle says in the end: summary.csv, ablation.csv, summary.md, plots.
#pragma once

#include <string>
#include <vector>

#include "experiments/report/csv.h"
#include "experiments/validate/bundle.h"
#include "experiments/validate/errors.h"
#include "experiments/validate/runs.h"

namespace leanstream::validate {

// The simulation with one effect switched off.
struct Ablated {
  std::string effect;     // "": the full model
  MetricSummary time;     // of tpot_ms_mean
  MetricSummary tail;     // of tpot_ms_p99
  MetricSummary prefill;  // of prefill_ms
  MetricSummary moved;    // of tpot_ms_mean, against the full model instead of the hardware
};

struct Summary {
  std::vector<std::string> names, cases;  // of the cells
  std::vector<std::string> systems;       // likewise
  std::vector<Comparison> comparisons;
  std::vector<MetricSummary> metrics;
  OrderCheck order;
  std::vector<Verdict> verdicts;
  std::vector<Ablated> ablation;  // the full model first; empty when it was not asked for
  std::size_t runs = 0, repeated = 0, still_drifted = 0, failed = 0;
};

Summary judge(const std::vector<run::Cell>& cells, const MeasuredRuns& measured,
              const report::CsvTable& simulated);

// A row for each cell and metric.
report::CsvTable summary_table(const Summary& summary);
report::CsvTable ablation_table(const std::vector<Ablated>& ablation);
// `simulation` is what simulation.json says.
std::string summary_text(const Summary& summary, const config::Json& manifest,
                         const config::Json& simulation);
config::Json summary_json(const Summary& summary, const std::string& folder);

// The simulated over the measured value of a metric, logarithmic, with bands of ±5 and ±10 %: one
// SVG. Throws UserError as report::render.
std::string plot(const Summary& summary, const std::string& metric, const std::string& title);

}  // namespace leanstream::validate
