// Small plots side by side, one for each system: miss ratios and bytes per token.
#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

// One line in each small plot.
struct Measure {
  const char* column;
  const char* title;
  const char* colour;
  int dash;
  double thickness;  // the first line is wide, so that it shows under an equal one
};
constexpr std::array misses = {
    Measure{"miss_ratio_demand", "demand: not in the cache from an earlier token", "#f0a277", 1, 5},
    Measure{"miss_ratio_final", "final: not there when the set is final", "#0063a8", 1, 2},
    Measure{"belady_miss_ratio", "Belady: the least that loading on demand could miss", "#3c424b",
            2, 2},
};
constexpr std::array traffic = {
    Measure{"bytes_wanted", "wanted: blocks of the final set", "#8cc9b5", 1, 5},
    Measure{"bytes_read", "read from flash", "#0063a8", 1, 2},
    Measure{"bytes_redundant", "redundant: read, but not in the final set", "#d1490c", 2, 2},
};
constexpr double megabyte = 1e6;

using Value = std::function<std::optional<double>(const Cell&, const Measure&)>;

// What one section shows of each facet.
struct Multiples {
  const char* id;
  const char* y_label;
  std::span<const Measure> measures;
  Value value;
  std::string (*format)(std::optional<double>);
  std::vector<const char*> more;  // further columns of the table
};

double most_of(const Facet& facet, const Multiples& shown) {
  double most = 0;
  for (const Cell& cell : facet.cells) {
    for (const Measure& m : shown.measures) most = std::max(most, shown.value(cell, m).value_or(0));
  }
  return most;
}

LinePlot plot_of(const Results& results, const Facet& facet, std::size_t system,
                 const Multiples& shown, double most) {
  LinePlot plot;
  plot.x_label = "memory budget";
  plot.y_label = shown.y_label;
  plot.x_ticks = budget_ticks(facet);
  plot.y_most = most;
  plot.corner = results.origin();
  plot.width = 380;
  plot.height = 260;
  plot.names = LineNames::none;
  for (const Measure& measure : shown.measures) {
    Series series{measure.title, measure.colour, 7, measure.dash, measure.thickness, {}};
    for (const Cell& cell : facet.cells) {
      const auto y = cell.system == system ? shown.value(cell, measure) : std::nullopt;
      if (y) series.points.emplace_back(cell.budget_bytes, *y);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// One small plot a system, all on one scale, so that systems compare.
std::string plots(const Results& results, const Facet& facet, const Multiples& shown,
                  std::size_t index) {
  std::vector<LegendEntry> entries;
  for (const Measure& m : shown.measures) entries.push_back({m.title, m.colour, true, m.dash});
  std::string out = legend(entries) + "<div class=\"grid\">";
  const double most = most_of(facet, shown);
  for (const std::size_t system : facet.systems()) {
    const std::string alt =
        fmt::format("{} of {} against memory budget; the table below holds the figures.",
                    shown.y_label, results.systems[system]);
    const std::string id = fmt::format("{}{}-{}", shown.id, index, system);
    out += fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n",
                       system_html(results, system),
                       draw(plot_of(results, facet, system, shown, most), id, alt));
  }
  return out + "</div>\n";
}

std::string table(const Results& results, const Facet& facet, const Multiples& shown) {
  std::vector<MetricColumn> columns;
  for (const Measure& measure : shown.measures) {
    columns.push_back({measure.column, shown.format,
                       [&shown, measure](const Cell& c) { return shown.value(c, measure); }});
  }
  for (const char* name : shown.more) {
    if (!results.knows(name)) continue;
    columns.push_back(
        {name, figure, [&results, name](const Cell& c) { return results.mean(c, name); }});
  }
  return to_html(metric_table(results, facet, shown.y_label, columns));
}

// A line needs two budgets; with one the table alone says more.
std::string facets(const Results& results, const Multiples& shown) {
  return for_each_facet(results, [&](const Facet& facet, std::size_t index) {
    const std::string figures = table(results, facet, shown);
    if (facet.budgets_bytes.size() < 2) return figures;
    return plots(results, facet, shown, index) + folded("The figures", figures);
  });
}

bool any_known(const Results& results, std::span<const Measure> measures) {
  return std::any_of(measures.begin(), measures.end(),
                     [&](const Measure& m) { return results.knows(m.column); });
}

}  // namespace

std::string miss_section(const Results& results) {
  if (!any_known(results, misses)) return "";
  const Value value = [&](const Cell& c, const Measure& m) { return results.mean(c, m.column); };
  return section("misses", "Miss ratios",
                 "Shares of the blocks that a layer finally wants. Between demand and final lies "
                 "what prefetching brought in time; between demand and Belady what a better "
                 "eviction could save.",
                 facets(results, {"miss", "miss ratio", misses, value, share, {}}));
}

std::string traffic_section(const Results& results) {
  if (!any_known(results, traffic)) return "";
  const Value value = [&](const Cell& c, const Measure& m) -> std::optional<double> {
    const auto size = results.mean(c, m.column);
    if (!size) return std::nullopt;
    return *size / megabyte;
  };
  return section(
      "traffic", "Bytes per token",
      "Read beside wanted shows what the cache saves; redundant bytes cost nothing "
      "where the flash would have been idle (<code>io_busy_ratio</code> below 1).",
      facets(results, {"traffic",
                       "MB per token",
                       traffic,
                       value,
                       figure,
                       {"read_amplification", "io_busy_ratio", "read_bandwidth_gb_per_s"}}));
}

}  // namespace leanstream::report
