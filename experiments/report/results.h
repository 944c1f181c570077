// A results folder as the report sees it: rows grouped into facets, systems and memory budgets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/report/csv.h"

namespace leanstream::report {

// The rows of one system at one memory budget; more than one when several seeds were run.
struct Cell {
  std::size_t system = 0;  // index into Results::systems
  double budget_bytes = 0;
  std::vector<std::size_t> rows;
};

// Cells that may be compared: everything but system, budget and seed is equal.
struct Facet {
  std::string title;                  // what distinguishes it, "" when it is the only one
  std::vector<double> budgets_bytes;  // ascending
  std::vector<Cell> cells;            // by system, then by budget

  const Cell* find(std::size_t system, double budget_bytes) const;
  // Systems that have a cell here, in order.
  std::vector<std::size_t> systems() const;
};

struct Results {
  std::string folder;
  CsvTable table;
  nlohmann::json manifest = nlohmann::json::object();  // empty when there is none
  std::optional<CsvTable> timing;
  std::vector<std::string> systems;  // in order of first appearance
  std::vector<Facet> facets;         // likewise

  // Reads DIR/results.csv and what else is there. Throws UserError when results.csv is missing,
  // broken, empty or without the columns `system` and `memory_budget_bytes`, or when the manifest
  // is not JSON.
  static Results load(const std::string& folder);

  // The mean of a column over the rows of a cell that know it; nothing when none does.
  std::optional<double> mean(const Cell& cell, std::string_view column) const;
  // Whether any row has a value there.
  bool knows(std::string_view column) const;
  // The most seeds that any cell has.
  std::size_t seeds() const;
  // "simulated, recorded trace": the label of every plot.
  std::string origin() const;
  // "recorded", "synthetic" or "unknown": the weakest of the traces that the manifest names; "live"
  // when the model itself ran.
  std::string trace_kind() const;
};

}  // namespace leanstream::report
