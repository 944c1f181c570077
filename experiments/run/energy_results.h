// Columns of results.csv and tokens.csv about processor time, energy and heat.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::run {

struct EnergyColumn {
  std::string name;
  std::string help;
  // Nothing where the platform does not state what it needs.
  std::function<std::optional<double>(const Cell&, const CellResult&)> value;
};
const std::vector<EnergyColumn>& energy_columns();

std::vector<std::string> energy_token_header();
// Of the i-th decoded token; std::nullopt as above.
std::vector<std::optional<double>> energy_token_values(const Cell& cell, const CellResult& result,
                                                       std::size_t i);

}  // namespace leanstream::run
