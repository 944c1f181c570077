// Tokens per second against the memory budget, and against the importance share.
#include <algorithm>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

Series series_of(const Results& results, const Facet& facet, std::size_t system,
                 const std::function<std::optional<double>(const Cell&)>& x) {
  Series series{results.systems[system], series_colour(system), series_mark(system), 1, 2, {}};
  for (const Cell& cell : facet.cells) {
    if (cell.system != system) continue;
    const auto at = x(cell);
    const auto speed = results.mean(cell, "tokens_per_s");
    if (at && speed) series.points.emplace_back(*at, *speed);
  }
  return series;
}

std::string budget_plot(const Results& results, const Facet& facet, std::size_t index) {
  LinePlot plot;
  plot.x_label = "memory budget";
  plot.y_label = "tokens per second";
  plot.may_be_logarithmic = true;
  plot.x_ticks = budget_ticks(facet);
  plot.corner = results.origin();
  for (const std::size_t system : facet.systems()) {
    plot.series.push_back(
        series_of(results, facet, system, [](const Cell& cell) { return cell.budget_bytes; }));
  }
  const std::string alt = fmt::format(
      "Tokens per second against memory budget, one line for each of {} systems; the table above "
      "holds the figures.",
      plot.series.size());
  return "<figure>" + draw(plot, fmt::format("speed{}", index), alt) + "</figure>\n";
}

std::string share_plot(const Results& results, const Facet& facet, std::size_t index) {
  LinePlot plot;
  plot.x_label = "importance share";
  plot.y_label = "tokens per second";
  plot.may_be_logarithmic = true;
  plot.x_from_zero = false;
  plot.names = LineNames::beside_last_point;
  plot.corner = results.origin();
  for (const std::size_t system : facet.systems()) {
    plot.series.push_back(series_of(results, facet, system, [&](const Cell& cell) {
      return results.mean(cell, "importance_share");
    }));
  }
  const std::string alt =
      "Tokens per second against importance share, one line for each system over its memory "
      "budgets; up and to the right is better.";
  std::vector<MetricColumn> columns = {
      {"tokens/s", figure, [&](const Cell& c) { return results.mean(c, "tokens_per_s"); }}};
  for (const char* name :
       {"importance_share", "importance_ratio", "top10_recall", "computed_share", "perplexity"}) {
    if (!results.knows(name)) continue;
    columns.push_back({name, std::string_view(name) == "perplexity" ? figure : share,
                       [&results, name](const Cell& c) { return results.mean(c, name); }});
  }
  return "<figure>" + draw(plot, fmt::format("share{}", index), alt) + "</figure>\n" +
         folded("The figures", to_html(metric_table(results, facet, "Speed and quality", columns)));
}

}  // namespace

std::string speed_section(const Results& results) {
  if (!results.knows("tokens_per_s")) return "";
  const auto one_budget = [](const Facet& facet) { return facet.budgets_bytes.size() < 2; };
  if (std::all_of(results.facets.begin(), results.facets.end(), one_budget)) return "";
  return section("speed", "Against memory budget",
                 "The budget is what the MLP blocks may occupy in memory; everything else of the "
                 "model is resident.",
                 for_each_facet(results, [&](const Facet& facet, std::size_t i) {
                   return budget_plot(results, facet, i);
                 }));
}

std::string quality_section(const Results& results) {
  if (!results.knows("importance_share")) return "";
  return section("quality", "Speed and importance share",
                 "A system is better only up and to the right: more tokens per second without "
                 "computing less. Each line joins the memory budgets of one system.",
                 for_each_facet(results, [&](const Facet& facet, std::size_t i) {
                   return share_plot(results, facet, i);
                 }));
}

}  // namespace leanstream::report
