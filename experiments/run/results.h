// Columns of the results files. results.csv holds only what the inputs determine.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::run {

// A metric as `leanstream list metrics` prints it.
struct MetricInfo {
  std::string name;
  std::string help;
};
std::vector<MetricInfo> metrics();

// One row and its header: the swept parameters under their dotted names, model, platform, system,
// memory_budget_bytes, seed, backend, the metrics, and `failure` (empty for a run that ended
// well). What cannot be known is empty.
std::vector<std::string> result_header(const Cell& cell);
std::vector<std::string> result_row(const Cell& cell, const CellResult& result,
                                    const std::string& backend);

// A row for each decoded token: cell number, the swept parameters, then the token's figures.
std::vector<std::string> token_header(const Cell& cell);
std::vector<std::vector<std::string>> token_rows(std::size_t index, const Cell& cell,
                                                 const CellResult& result);

// Of the run itself: wall seconds, events, and their rates.
std::vector<std::string> timing_header();
std::vector<std::string> timing_row(std::size_t index, const CellResult& result);

// Of the machine, a row for each: cell number, name, value.
std::vector<std::string> facts_header();
std::vector<std::vector<std::string>> facts_rows(std::size_t index, const CellResult& result);

}  // namespace leanstream::run
