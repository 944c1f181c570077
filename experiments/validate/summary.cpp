#include "experiments/validate/summary.h"

#include <cmath>

#include <fmt/format.h>

namespace leanstream::validate {
namespace {

using config::Json;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}
std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

std::string csv_share(std::optional<double> share) {
  return share ? fmt::format("{:.4f}", *share) : "";
}

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "unknown";
}

std::string program_of(const Json& json) {
  return fmt::format("program {} ({}{})", text_of(json, "version"), text_of(json, "commit"),
                     json.value("dirty", false) ? ", changed" : "");
}

std::string origin(const Summary& s, const Json& manifest, const Json& simulation) {
  const Json& platform = manifest["platform"];
  std::string text =
      fmt::format("Measured {} on {}; {}.\nSimulated {}; {}.\n", text_of(manifest, "created"),
                  text_of(manifest, "machine"), program_of(manifest),
                  text_of(simulation, "created"), program_of(simulation));
  if (simulation["platform_hash"] != platform["hash"]) {
    text += fmt::format(
        "The platform file of the simulation ({}) is not the one there was when the bundle was "
        "measured ({}): it, or the model, was changed after measuring.\n",
        text_of(simulation, "platform_hash"), text_of(platform, "hash"));
  } else if (text_of(simulation, "commit") != text_of(manifest, "commit")) {
    text += "The program of the simulation is newer than that of the measurement.\n";
  }
  if (!simulation["assignments"].empty()) {
    text += fmt::format("Simulated with {}.\n", simulation["assignments"].dump());
  }
  text += fmt::format("Calibration: {}.\n", text_of(manifest, "calibration"));
  text += fmt::format(
      "{} cells, {} hardware runs: {} were repeats, {} failed, {} count although "
      "their probe drifted by more than 10 %.\n",
      s.names.size(), s.runs, s.repeated, s.failed, s.still_drifted);
  return text;
}

std::string metric_lines(const Summary& s) {
  std::string text =
      "| metric | cells | median error | 9 of 10 within | worst | of | hardware's half-range |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const MetricSummary& m : s.metrics) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", m.metric, m.cells,
                        percent(m.median_error), percent(m.nine_of_ten), signed_percent(m.worst),
                        s.names[m.worst_cell], percent(m.median_half_range));
  }
  return text;
}

std::string order_lines(const Summary& s) {
  std::string text;
  for (const auto& v : s.order.violations) {
    text += fmt::format(
        "- {} takes {:.2f} times as long as {} on hardware, {:.2f} times in "
        "simulation ({})\n",
        s.systems[v.slower], v.measured, s.systems[v.faster], v.simulated, s.cases[v.faster]);
  }
  return text.empty() ? "" : "\nOrder that differs:\n\n" + text;
}

std::string ablation_lines(const Summary& s) {
  if (s.ablation.empty()) return "";
  std::string text =
      "\nOne effect at a time switched off, one simulated run a cell:\n\n"
      "| without | time per token: median error | change, points | 9 of 10 | worst | its p99: "
      "median error | prefill: median error "
      "| moves time by, median | at most | of |\n|---|---|---|---|---|---|---|---|---|---|\n";
  const double full = s.ablation.front().time.median_error;
  for (const Ablated& a : s.ablation) {
    const bool is_full = a.effect.empty();
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", is_full ? "(nothing)" : a.effect,
        percent(a.time.median_error),
        is_full ? "" : fmt::format("{:+.1f}", 100 * (a.time.median_error - full)),
        percent(a.time.nine_of_ten), signed_percent(a.time.worst), percent(a.tail.median_error),
        percent(a.prefill.median_error), is_full ? "" : percent(a.moved.median_error),
        is_full ? "" : signed_percent(a.moved.worst), is_full ? "" : s.names[a.moved.worst_cell]);
  }
  return text;
}

}  // namespace

Summary judge(const std::vector<run::Cell>& cells, const MeasuredRuns& measured,
              const report::CsvTable& simulated) {
  Summary s;
  for (const run::Cell& cell : cells) {
    s.names.push_back(run::label(cell));
    s.cases.push_back(run::case_of(cell));
    s.systems.push_back(cell.system.name);
  }
  s.comparisons = compare(cells.size(), measured.table(), simulated);
  s.metrics = summarise(s.comparisons);
  s.order = check_order(s.comparisons, s.cases);
  s.verdicts = verdicts(s.comparisons, s.order);
  s.runs = measured.table().rows.size();
  s.repeated = measured.repeated();
  s.still_drifted = measured.still_drifted();
  s.failed = measured.failed();
  return s;
}

report::CsvTable summary_table(const Summary& summary) {
  report::CsvTable table;
  table.header = {"cell", "name", "metric", "runs", "measured", "simulated", "error", "half_range"};
  for (const Comparison& c : summary.comparisons) {
    table.rows.push_back({std::to_string(c.cell), summary.names[c.cell], c.metric,
                          std::to_string(c.runs), report::csv_number(c.measured),
                          report::csv_number(c.simulated), csv_share(c.error),
                          csv_share(c.half_range)});
  }
  return table;
}

report::CsvTable ablation_table(const std::vector<Ablated>& ablation) {
  report::CsvTable table;
  table.header = {"without",          "median_error",     "nine_of_ten",
                  "worst_error",      "median_error_p99", "median_error_prefill",
                  "change_of_median", "moves_median",     "moves_most"};
  for (const Ablated& a : ablation) {
    table.rows.push_back({a.effect.empty() ? "nothing" : a.effect, csv_share(a.time.median_error),
                          csv_share(a.time.nine_of_ten), csv_share(a.time.worst),
                          csv_share(a.tail.median_error), csv_share(a.prefill.median_error),
                          csv_share(a.time.median_error - ablation.front().time.median_error),
                          csv_share(a.moved.median_error), csv_share(a.moved.worst)});
  }
  return table;
}

std::string summary_text(const Summary& s, const Json& manifest, const Json& simulation) {
  std::string text = fmt::format("# {} on {}\n\n", text_of(manifest, "model"),
                                 text_of(manifest["platform"], "name"));
  if (manifest.value("draft", false)) text += "A draft: no evidence.\n\n";
  text += origin(s, manifest, simulation) +
          "Errors are simulated ÷ median of the hardware runs − 1.\n\n" + metric_lines(s) + "\n";
  for (const Verdict& v : s.verdicts) {
    text += fmt::format("- {}: {}\n", v.holds ? "holds" : "does not hold", v.text);
  }
  return text + order_lines(s) + ablation_lines(s) +
         "\nPlots: `time_per_token.svg`, `time_per_token_p99.svg`. All cells: `summary.csv`.\n";
}

Json summary_json(const Summary& s, const std::string& folder) {
  Json metrics = Json::array(), verdicts = Json::array(), ablation = Json::array();
  for (const MetricSummary& m : s.metrics) {
    metrics.push_back({{"metric", m.metric},
                       {"cells", m.cells},
                       {"median_error", m.median_error},
                       {"nine_of_ten", m.nine_of_ten},
                       {"worst_error", m.worst},
                       {"worst_cell", s.names[m.worst_cell]},
                       {"median_half_range", m.median_half_range}});
  }
  for (const Verdict& v : s.verdicts) verdicts.push_back({{"rule", v.text}, {"holds", v.holds}});
  for (const Ablated& a : s.ablation) {
    ablation.push_back({{"without", a.effect},
                        {"median_error", a.time.median_error},
                        {"nine_of_ten", a.time.nine_of_ten},
                        {"worst_error", a.time.worst}});
  }
  return {{"folder", folder},       {"cells", s.names.size()}, {"runs", s.runs},
          {"repeated", s.repeated}, {"failed", s.failed},      {"metrics", metrics},
          {"verdicts", verdicts},   {"ablation", ablation}};
}

}  // namespace leanstream::validate
