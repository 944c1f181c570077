#include "experiments/report/html.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

constexpr std::size_t most_facets = 8;

}  // namespace

std::string to_html(const HtmlTable& table) {
  std::string out = fmt::format("<div class=\"scroll\"><table class=\"{}\"><caption>{}</caption>",
                                table.css_class, escape(table.caption));
  out += "<thead><tr>";
  for (const std::string& cell : table.header) out += "<th scope=\"col\">" + cell + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "<th scope=\"row\">" + row[i] + "</th>" : "<td>" + row[i] + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string section(std::string_view id, std::string_view title, const std::string& lead,
                    const std::string& body) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n<p class=\"lead\">{}</p>\n{}</section>\n", id,
                     escape(title), lead, body);
}

std::string folded(std::string_view summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", escape(summary), body);
}

std::string legend(const std::vector<LegendEntry>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const LegendEntry& entry : entries) {
    const std::string mark =
        entry.line ? fmt::format("<i class=\"stroke dash{}\" style=\"color:{}\"></i>", entry.dash,
                                 entry.colour)
                   : fmt::format("<i class=\"square\" style=\"background:{}\"></i>", entry.colour);
    out += fmt::format("<li>{}{}</li>", mark, escape(entry.label));
  }
  return out + "</ul>\n";
}

std::string system_html(const Results& results, std::size_t system) {
  return fmt::format("<i class=\"dot\" style=\"background:{}\"></i>{}", series_colour(system),
                     escape(results.systems[system]));
}

std::string budget_text(const Results& results, const Facet& facet, double budget_bytes) {
  std::set<std::string> given;
  for (const Cell& cell : facet.cells) {
    if (cell.budget_bytes != budget_bytes) continue;
    for (const std::size_t row : cell.rows) {
      given.insert(results.table.text(row, "memory_budget"));
    }
  }
  const std::string size = bytes(budget_bytes);
  if (given.size() != 1 || given.begin()->empty()) return size;
  const std::string& text = *given.begin();
  return text.find('%') == std::string::npos ? size : fmt::format("{} ({})", text, size);
}

std::string for_each_facet(
    const Results& results,
    const std::function<std::string(const Facet&, std::size_t)>& draw_facet) {
  std::string out;
  const std::size_t count = std::min(results.facets.size(), most_facets);
  for (std::size_t i = 0; i < count; ++i) {
    const Facet& facet = results.facets[i];
    if (results.facets.size() > 1) out += "<h3>" + escape(facet.title) + "</h3>\n";
    out += draw_facet(facet, i);
  }
  if (count < results.facets.size()) {
    out += fmt::format("<p class=\"note\">{} of {} groups are shown; results.csv holds all.</p>\n",
                       count, results.facets.size());
  }
  return out;
}

HtmlTable metric_table(const Results& results, const Facet& facet, std::string_view caption,
                       const std::vector<MetricColumn>& columns) {
  HtmlTable table;
  table.caption = caption;
  table.header = {"system", "memory budget"};
  for (const MetricColumn& column : columns) table.header.push_back(column.title);
  for (const Cell& cell : facet.cells) {
    std::vector<std::string> row = {system_html(results, cell.system),
                                    escape(budget_text(results, facet, cell.budget_bytes))};
    for (const MetricColumn& column : columns) row.push_back(column.format(column.value(cell)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<Tick> budget_ticks(const Facet& facet) {
  std::vector<Tick> ticks;
  for (const double budget : facet.budgets_bytes) ticks.push_back({budget, bytes(budget)});
  return ticks;
}

}  // namespace leanstream::report
