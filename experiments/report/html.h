// Pieces of the page that every section uses.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/report/plot.h"
#include "experiments/report/results.h"

namespace leanstream::report {

struct HtmlTable {
  std::string caption;                         // plain text
  std::vector<std::string> header;             // HTML
  std::vector<std::vector<std::string>> rows;  // HTML; the first cell of a row names it
  std::string css_class;
};
std::string to_html(const HtmlTable& table);

// A headed part of the page; `lead` is HTML that says how to read it.
std::string section(std::string_view id, std::string_view title, const std::string& lead,
                    const std::string& body);

// A table that opens on demand.
std::string folded(std::string_view summary, const std::string& body);

// Names and colours, for plots that do not name their parts.
struct LegendEntry {
  std::string label;
  std::string colour;
  bool line = false;  // a dash instead of a square
  int dash = 1;       // gnuplot's dash type
};
std::string legend(const std::vector<LegendEntry>& entries);

// The name of a system with its colour before it.
std::string system_html(const Results& results, std::size_t system);

// "20% of mlp (41 MB)" when the sweep says how the budget was given, else "41 MB". Plain text.
std::string budget_text(const Results& results, const Facet& facet, double budget_bytes);

// Calls `draw_facet(facet, index)` for each facet, headed by its title when there are several; a
// report draws at most 8 and says so.
std::string for_each_facet(const Results& results,
                           const std::function<std::string(const Facet&, std::size_t)>& draw_facet);

// One row for each system and budget, one column for each metric.
struct MetricColumn {
  std::string title;  // HTML
  std::string (*format)(std::optional<double>);
  std::function<std::optional<double>(const Cell&)> value;
};
HtmlTable metric_table(const Results& results, const Facet& facet, std::string_view caption,
                       const std::vector<MetricColumn>& columns);

// Axis ticks at the budgets of a facet.
std::vector<Tick> budget_ticks(const Facet& facet);

}  // namespace leanstream::report
