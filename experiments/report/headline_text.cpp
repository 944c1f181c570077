// The headline table for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/report.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

// Columns on a terminal, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string cell_text(const Results& results, const Cell* cell) {
  if (cell == nullptr) return "not run";
  return fmt::format("{} ({})", figure(results.mean(*cell, "tokens_per_s")),
                     share(results.mean(*cell, "importance_share")));
}

using Grid = std::vector<std::vector<std::string>>;

Grid grid_of(const Results& results, const Facet& facet) {
  Grid grid = {{"system"}};
  for (const double budget : facet.budgets_bytes) {
    grid[0].push_back(budget_text(results, facet, budget));
  }
  for (const std::size_t system : facet.systems()) {
    std::vector<std::string> row = {results.systems[system]};
    for (const double budget : facet.budgets_bytes) {
      row.push_back(cell_text(results, facet.find(system, budget)));
    }
    grid.push_back(std::move(row));
  }
  return grid;
}

std::string aligned(const Grid& grid) {
  std::vector<std::size_t> widths(grid[0].size(), 0);
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string out;
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      out += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string headline_text(const Results& results) {
  std::string out = fmt::format("tokens per second (importance share), {}\n", results.origin());
  for (const Facet& facet : results.facets) {
    out += '\n';
    if (!facet.title.empty()) out += facet.title + "\n";
    out += aligned(grid_of(results, facet));
  }
  const auto assumed = assumed_of_times(results);
  if (!assumed.empty()) {
    out +=
        fmt::format("\nrests on assumed figures of the platform: {}\n", fmt::join(assumed, ", "));
  }
  return out;
}

}  // namespace leanstream::report
