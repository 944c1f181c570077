// Tokens per second of each system at each memory budget, never without what it computed.
#include <algorithm>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

// A system this far below the best sparse one of its column bought speed with quality.
constexpr double share_tolerance = 0.02;

struct Column {
  double fastest = 0;
  double slowest = 0;     // tokens/s, 0: none is known
  double best_share = 0;  // of the systems that leave something out
};

Column column_of(const Results& results, const Facet& facet, double budget) {
  Column column;
  for (const std::size_t system : facet.systems()) {
    const Cell* cell = facet.find(system, budget);
    if (cell == nullptr) continue;
    const auto speed = results.mean(*cell, "tokens_per_s");
    column.fastest = std::max(column.fastest, speed.value_or(0));
    if (speed && (column.slowest == 0 || *speed < column.slowest)) column.slowest = *speed;
    const double computed = results.mean(*cell, "computed_share").value_or(0);
    const auto kept = results.mean(*cell, "importance_share");
    if (kept && computed < 0.999 && *kept < 0.9995) {
      column.best_share = std::max(column.best_share, *kept);
    }
  }
  return column;
}

std::string cell_html(const Results& results, const Cell* cell, const Column& column) {
  if (cell == nullptr) return "<span class=\"none\">not run</span>";
  const auto speed = results.mean(*cell, "tokens_per_s");
  if (!speed) return "<span class=\"none\">no result</span>";
  const auto kept = results.mean(*cell, "importance_share");
  const auto perplexity = results.mean(*cell, "perplexity");
  std::string out = fmt::format("<b>{}</b>", figure(speed));
  if (column.slowest > 0) out += fmt::format(" <small>{:.2f}×</small>", *speed / column.slowest);
  out += fmt::format("<span class=\"bar\" style=\"width:{:.1f}%;background:{}\"></span>",
                     100 * *speed / column.fastest, series_colour(cell->system));
  const bool less = kept && *kept < column.best_share - share_tolerance;
  out += fmt::format("<small class=\"{}\">share {}{}</small>", less ? "less" : "kept", share(kept),
                     less ? " ▼" : "");
  if (perplexity) out += fmt::format("<small>perplexity {}</small>", figure(perplexity));
  return out;
}

// The size of a budget stands below the way in which it was given.
std::string budget_heading(const std::string& text) {
  const std::size_t size = text.find(" (");
  if (size == std::string::npos) return escape(text);
  return escape(text.substr(0, size)) + "<br>" + escape(text.substr(size + 1));
}

std::string failures(const Results& results) {
  std::string items;
  for (std::size_t row = 0; row < results.table.rows.size(); ++row) {
    const std::string& failure = results.table.text(row, "failure");
    if (failure.empty()) continue;
    items += fmt::format("<li>{} at {}: {}</li>", escape(results.table.text(row, "system")),
                         bytes(results.table.number(row, "memory_budget_bytes")), escape(failure));
  }
  if (items.empty()) return "";
  return "<div class=\"notes\"><b>Runs that failed</b><ul>" + items + "</ul></div>\n";
}

std::string facet_table(const Results& results, const Facet& facet) {
  HtmlTable table;
  table.css_class = "headline";
  table.caption =
      fmt::format("Tokens per second by system and memory budget ({})", results.origin());
  table.header = {"system"};
  std::vector<Column> columns;
  for (const double budget : facet.budgets_bytes) {
    table.header.push_back(budget_heading(budget_text(results, facet, budget)));
    columns.push_back(column_of(results, facet, budget));
  }
  for (const std::size_t system : facet.systems()) {
    std::vector<std::string> row = {system_html(results, system)};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Cell* cell = facet.find(system, facet.budgets_bytes[i]);
      row.push_back(cell_html(results, cell, columns[i]));
    }
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

}  // namespace

std::string headline_section(const Results& results) {
  std::string lead =
      "Decoded tokens per second; <small>×</small> is relative to the slowest system of the same "
      "column. <b>Share</b> is the importance share: how much of the importance of all neurons "
      "was computed (1 is the dense model). Compare speed at equal share; <b class=\"less\">▼</b> "
      "marks a system that computes noticeably less than the best sparse one of its column.";
  if (results.seeds() > 1) {
    lead += fmt::format(" Figures are means of up to {} seeds.", results.seeds());
  }
  return section("headline", "Tokens per second", lead,
                 for_each_facet(results, [&](const Facet& facet,
                                             std::size_t) { return facet_table(results, facet); }) +
                     assumed_note(results) + failures(results));
}

}  // namespace leanstream::report
