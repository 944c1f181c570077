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
};
constexpr std::array misses = {
    Measure{"miss_ratio_demand", "demand: not in the cache from an earlier token", "#d1490c", 1},
    Measure{"miss_ratio_final", "final: not there when the set is final", "#0063a8", 1},
    Measure{"belady_miss_ratio", "Belady: the least that any eviction could miss", "#5a5a5a", 2},
};
constexpr std::array traffic = {
    Measure{"bytes_wanted", "wanted: blocks of the final set", "#00825f", 1},
    Measure{"bytes_read", "read from flash", "#0063a8", 1},
    Measure{"bytes_redundant", "redundant: read, but not in the final set", "#d1490c", 2},
};
constexpr double megabyte = 1e6;

using Value = std::function<std::optional<double>(const Cell&, const Measure&)>;

double most_of(const Facet& facet, std::span<const Measure> measures, const Value& value) {
  double most = 0;
  for (const Cell& cell : facet.cells) {
    for (const Measure& m : measures) most = std::max(most, value(cell, m).value_or(0));
  }
  return most;
}

// The small plots of one facet; one scale, so that systems compare.
std::string small_plots(const Results& results, const Facet& facet,
                        std::span<const Measure> measures, const Value& value,
                        const std::string& y_label, const std::string& id) {
  const double most = most_of(facet, measures, value);
  std::string out = "<div class=\"grid\">";
  for (const std::size_t system : facet.systems()) {
    LinePlot plot;
    plot.x_label = "memory budget";
    plot.y_label = y_label;
    plot.x_ticks = budget_ticks(facet);
    plot.y_most = most;
    plot.corner = results.origin();
    plot.width = 380;
    plot.height = 260;
    plot.label_lines = false;
    for (const Measure& measure : measures) {
      Series series{measure.title, measure.colour, 7, measure.dash, {}};
      for (const Cell& cell : facet.cells) {
        const auto y = cell.system == system ? value(cell, measure) : std::nullopt;
        if (y) series.points.emplace_back(cell.budget_bytes, *y);
      }
      plot.series.push_back(std::move(series));
    }
    const std::string alt = fmt::format(
        "{} of {} against memory budget; the table below holds "
        "the figures.",
        y_label, results.systems[system]);
    out += fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n",
                       system_html(results, system),
                       draw(plot, fmt::format("{}-{}", id, system), alt));
  }
  return out + "</div>\n";
}

std::string measure_legend(std::span<const Measure> measures) {
  std::vector<LegendEntry> entries;
  for (const Measure& m : measures) entries.push_back({m.title, m.colour, true, m.dash});
  return legend(entries);
}

bool any_known(const Results& results, std::span<const Measure> measures) {
  return std::any_of(measures.begin(), measures.end(),
                     [&](const Measure& m) { return results.knows(m.column); });
}

std::string measure_table(const Results& results, const Facet& facet, std::string_view caption,
                          std::span<const Measure> measures, const Value& value,
                          std::string (*format)(std::optional<double>),
                          std::vector<MetricColumn> more) {
  std::vector<MetricColumn> columns;
  for (const Measure& measure : measures) {
    columns.push_back({measure.column, format,
                       [&value, measure](const Cell& cell) { return value(cell, measure); }});
  }
  for (MetricColumn& column : more) columns.push_back(std::move(column));
  return folded("The figures", to_html(metric_table(results, facet, caption, columns)));
}

// Bytes of a run divided by its decoded tokens, where the table counts them.
std::optional<double> megabytes_per_token(const Results& results, const Cell& cell,
                                          const char* column) {
  const auto sum = results.mean(cell, column);
  if (!sum) return std::nullopt;
  return *sum / results.mean(cell, "decoded_tokens").value_or(1) / megabyte;
}

}  // namespace

std::string miss_section(const Results& results) {
  if (!any_known(results, misses)) return "";
  const Value value = [&](const Cell& c, const Measure& m) { return results.mean(c, m.column); };
  const auto draw_facet = [&](const Facet& facet, std::size_t i) {
    return small_plots(results, facet, misses, value, "miss ratio", fmt::format("miss{}", i)) +
           measure_table(results, facet, "Miss ratios", misses, value, share, {});
  };
  return section("misses", "Miss ratios",
                 "Shares of the blocks that a layer finally wants. Between demand and final lies "
                 "what prefetching brought in time; between demand and Belady what a better "
                 "eviction could save.",
                 measure_legend(misses) + for_each_facet(results, draw_facet));
}

std::string traffic_section(const Results& results) {
  if (!any_known(results, traffic)) return "";
  const Value value = [&](const Cell& c, const Measure& m) {
    return megabytes_per_token(results, c, m.column);
  };
  const auto draw_facet = [&](const Facet& facet, std::size_t i) {
    std::vector<MetricColumn> more;
    for (const char* name : {"read_amplification", "io_busy_ratio", "read_bandwidth_gb_per_s"}) {
      if (!results.knows(name)) continue;
      more.push_back(
          {name, figure, [&results, name](const Cell& c) { return results.mean(c, name); }});
    }
    return small_plots(results, facet, traffic, value, "MB per token",
                       fmt::format("traffic{}", i)) +
           measure_table(results, facet, "Megabytes per token", traffic, value, figure,
                         std::move(more));
  };
  return section("traffic", "Bytes per token",
                 "Read beside wanted shows what the cache saves; redundant bytes cost nothing "
                 "where the flash would have been idle (<code>io_busy_ratio</code> below 1).",
                 measure_legend(traffic) + for_each_facet(results, draw_facet));
}

}  // namespace leanstream::report
