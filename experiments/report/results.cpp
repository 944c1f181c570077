#include "experiments/report/results.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/nearest.h"

namespace leanstream::report {
namespace {

constexpr std::array required = {"system", "memory_budget_bytes"};
// Swept parameters stand before these in results.csv; the metrics stand after them.
constexpr std::array identity = {"model", "platform", "system", "memory_budget_bytes",
                                 "seed",  "backend"};

void check_columns(const CsvTable& table, const std::string& path) {
  for (const char* name : required) {
    if (!table.column(name)) {
      throw UserError("{}:1: no column '{}'{}", path, name, suggestion(name, table.header));
    }
  }
  if (table.rows.empty()) throw UserError("{}:1: no rows, so there is nothing to report", path);
}

nlohmann::json read_manifest(const std::string& path) {
  if (!std::filesystem::exists(path)) return nlohmann::json::object();
  try {
    auto manifest = nlohmann::json::parse(read_file(path));
    if (!manifest.is_object()) throw UserError("{}:1: not a JSON object", path);
    return manifest;
  } catch (const nlohmann::json::parse_error& error) {
    throw UserError("{}: {}", path, error.what());
  }
}

// The columns that tell facets apart: model, platform, backend and the swept parameters, except
// those that only say the budget, the system or the seed again.
std::vector<std::string> facet_columns(const CsvTable& table) {
  std::vector<std::string> columns;
  const auto first = std::find_first_of(table.header.begin(), table.header.end(), identity.begin(),
                                        identity.end());
  const std::set<std::string_view> other = {"system", "memory_budget_bytes", "memory_budget",
                                            "seed"};
  const auto distinguishes = [&](const std::string& name) {
    if (other.contains(name) || name.ends_with(".memory_budget") || name.ends_with(".seed")) {
      return false;
    }
    const std::string& value = table.text(0, name);
    for (std::size_t row = 1; row < table.rows.size(); ++row) {
      if (table.text(row, name) != value) return true;
    }
    return false;
  };
  for (const char* name : {"model", "platform", "backend"}) {
    if (distinguishes(name)) columns.emplace_back(name);
  }
  std::copy_if(table.header.begin(), first, std::back_inserter(columns), distinguishes);
  return columns;
}

std::string facet_title(const CsvTable& table, std::size_t row,
                        const std::vector<std::string>& columns) {
  std::string title;
  for (const std::string& column : columns) {
    title += fmt::format("{}{} {}", title.empty() ? "" : ", ", column, table.text(row, column));
  }
  return title;
}

void place_row(Facet& facet, std::size_t row, std::size_t system, double budget) {
  for (Cell& cell : facet.cells) {
    if (cell.system == system && cell.budget_bytes == budget) {
      cell.rows.push_back(row);
      return;
    }
  }
  facet.cells.push_back({system, budget, {row}});
}

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

void group(Results& results, const std::string& path) {
  const std::vector<std::string> columns = facet_columns(results.table);
  std::map<std::string, std::size_t> facet_of;
  for (std::size_t row = 0; row < results.table.rows.size(); ++row) {
    const auto budget = results.table.number(row, "memory_budget_bytes");
    const std::string& system = results.table.text(row, "system");
    const bool failed = !results.table.text(row, "failure").empty();
    if (failed && (!budget || system.empty())) continue;  // the list of failures names it
    if (!budget || system.empty()) {
      throw UserError("{}: row {} lacks its system or memory_budget_bytes", path, row + 1);
    }
    const std::string title = facet_title(results.table, row, columns);
    const auto [found, added] = facet_of.try_emplace(title, results.facets.size());
    if (added) results.facets.push_back({title, {}, {}});
    place_row(results.facets[found->second], row, index_of(results.systems, system), *budget);
  }
  for (Facet& facet : results.facets) {
    std::sort(facet.cells.begin(), facet.cells.end(), [](const Cell& a, const Cell& b) {
      return std::pair(a.system, a.budget_bytes) < std::pair(b.system, b.budget_bytes);
    });
    std::set<double> budgets;
    for (const Cell& cell : facet.cells) budgets.insert(cell.budget_bytes);
    facet.budgets_bytes.assign(budgets.begin(), budgets.end());
  }
}

}  // namespace

const Cell* Facet::find(std::size_t system, double budget) const {
  for (const Cell& cell : cells) {
    if (cell.system == system && cell.budget_bytes == budget) return &cell;
  }
  return nullptr;
}

std::vector<std::size_t> Facet::systems() const {
  std::set<std::size_t> present;
  for (const Cell& cell : cells) present.insert(cell.system);
  return {present.begin(), present.end()};
}

Results Results::load(const std::string& folder) {
  const std::filesystem::path base(folder);
  const std::string path = (base / "results.csv").string();
  if (!std::filesystem::exists(path)) {
    throw UserError(
        "{}: no such file; a report needs a results folder, as `leanstream sweep` "
        "or `leanstream run` writes it",
        path);
  }
  Results results;
  results.folder = folder;
  results.table = CsvTable::read(path);
  check_columns(results.table, path);
  results.manifest = read_manifest((base / "manifest.json").string());
  const std::string timing = (base / "timing.csv").string();
  if (std::filesystem::exists(timing)) results.timing = CsvTable::read(timing);
  group(results, path);
  return results;
}

std::optional<double> Results::mean(const Cell& cell, std::string_view column) const {
  double sum = 0;
  int count = 0;
  for (const std::size_t row : cell.rows) {
    if (const auto value = table.number(row, column)) {
      sum += *value;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

bool Results::knows(std::string_view column) const {
  const auto index = table.column(column);
  return index && std::any_of(table.rows.begin(), table.rows.end(),
                              [&](const auto& row) { return !row[*index].empty(); });
}

std::size_t Results::seeds() const {
  std::size_t most = 0;
  for (const Facet& facet : facets) {
    for (const Cell& cell : facet.cells) most = std::max(most, cell.rows.size());
  }
  return most;
}

std::string Results::trace_kind() const {
  if (manifest.contains("live")) return "live";
  // `traces` holds all of a sweep under their paths; a run has one `trace`.
  const auto many = manifest.find("traces");
  nlohmann::json all = nlohmann::json::array();
  if (many != manifest.end() && many->is_structured()) {
    for (const auto& one : *many) all.push_back(one);
  } else if (manifest.contains("trace")) {
    all.push_back(manifest["trace"]);
  }
  std::string kind = all.empty() ? "unknown" : "recorded";
  for (const auto& one : all) {
    const bool named = one.is_object() && one.contains("kind") && one["kind"].is_string();
    const std::string its = named ? one["kind"].get<std::string>() : "unknown";
    if (its != "recorded") kind = its;
  }
  return kind;
}

std::string Results::origin() const {
  std::set<std::string> backends;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& backend = table.text(row, "backend");
    backends.insert(backend == "sim" ? "simulated" : backend.empty() ? "backend unknown" : backend);
  }
  const std::string kind = trace_kind();
  return fmt::format("{}, {}", fmt::join(backends, " and "),
                     kind == "live"      ? "live model"
                     : kind == "unknown" ? "trace of unknown kind"
                                         : kind + " trace");
}

}  // namespace leanstream::report
