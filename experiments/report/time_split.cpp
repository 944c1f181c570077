// Time per token: compute, stall, prediction, synchronisation, as stacked bars.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

struct Part {
  const char* column;
  const char* title;
  const char* colour;
};
constexpr std::array parts = {
    Part{"compute_ms", "compute", "#2f6fb0"},
    Part{"gpu_stall_ms", "waiting for blocks", "#e08a2e"},
    Part{"prediction_wait_ms", "waiting for predictions", "#8c63b8"},
    Part{"synchronisation_ms", "synchronisation", "#6b7280"},
};
constexpr const char* other_colour = "#d3d7dd";

// What the four parts leave of the mean time per token; nothing when that is rounding.
std::optional<double> rest(const Results& results, const Cell& cell) {
  const auto whole = results.mean(cell, "tpot_ms_mean");
  if (!whole) return std::nullopt;
  double sum = 0;
  for (const Part& part : parts) sum += results.mean(cell, part.column).value_or(0);
  if (*whole - sum < 0.005 * *whole) return std::nullopt;
  return *whole - sum;
}

Bar bar_of(const Results& results, const Cell& cell) {
  Bar bar{results.systems[cell.system], {}, ""};
  double sum = 0;
  for (const Part& part : parts) bar.parts.push_back(results.mean(cell, part.column));
  bar.parts.push_back(rest(results, cell));
  for (const auto& part : bar.parts) sum += part.value_or(0);
  bar.end_label = sum > 0 ? figure(sum) + " ms" : "unknown";
  return bar;
}

std::string facet_plots(const Results& results, const Facet& facet, std::size_t index) {
  std::vector<BarPlot> plots;
  double most = 0;
  for (const double budget : facet.budgets_bytes) {
    BarPlot plot;
    plot.x_label = "milliseconds per token";
    plot.corner = results.origin();
    for (const Part& part : parts) plot.colours.emplace_back(part.colour);
    plot.colours.emplace_back(other_colour);
    plot.width = 560;
    for (const std::size_t system : facet.systems()) {
      const Cell* cell = facet.find(system, budget);
      if (cell != nullptr) plot.bars.push_back(bar_of(results, *cell));
    }
    for (const Bar& bar : plot.bars) {
      double sum = 0;
      for (const auto& part : bar.parts) sum += part.value_or(0);
      most = std::max(most, sum);
    }
    plots.push_back(std::move(plot));
  }
  std::string out = "<div class=\"grid wide\">";
  for (std::size_t i = 0; i < plots.size(); ++i) {
    plots[i].x_most = most;  // one scale, so that budgets compare
    const std::string budget = budget_text(results, facet, facet.budgets_bytes[i]);
    const std::string alt = fmt::format(
        "Time per token of each system at {}, split into its parts; the table below holds the "
        "figures.",
        budget);
    out += fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n", escape(budget),
                       draw(plots[i], fmt::format("time{}-{}", index, i), alt));
  }
  std::vector<MetricColumn> columns;
  for (const Part& part : parts) {
    columns.push_back({fmt::format("{}, ms", part.title), figure,
                       [&results, part](const Cell& c) { return results.mean(c, part.column); }});
  }
  columns.push_back({"other, ms", figure, [&](const Cell& c) { return rest(results, c); }});
  columns.push_back(
      {"whole, ms", figure, [&](const Cell& c) { return results.mean(c, "tpot_ms_mean"); }});
  return out + "</div>" +
         folded("The figures",
                to_html(metric_table(results, facet, "Time per token by part", columns)));
}

}  // namespace

std::string time_section(const Results& results) {
  const auto known = [&](const Part& part) { return results.knows(part.column); };
  if (std::none_of(parts.begin(), parts.end(), known)) return "";
  std::vector<LegendEntry> entries;
  for (const Part& part : parts) entries.push_back({part.title, part.colour});
  entries.push_back({"other", other_colour});
  return section("time", "Where the time of a token goes",
                 "The accelerator's time for one token. What waits for flash is what more "
                 "overlap, better caching or fewer bytes can win.",
                 legend(entries) + for_each_facet(results, [&](const Facet& facet, std::size_t i) {
                   return facet_plots(results, facet, i);
                 }));
}

}  // namespace leanstream::report
