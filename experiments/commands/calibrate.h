// The two kinds of `leanstream calibrate`: from tables (calibrate.cpp), and of this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platforms/calibration/fit.h"

namespace leanstream::commands {

struct MachineOptions {
  std::string name;
  std::string out;
  std::vector<std::string> files;
  std::size_t size_mib = 1024;
  std::string engine = "auto";
  int threads = 1;
  int repetitions = 0;  // 0: the plan's
  bool quick = false;
  bool tiny = false;
  bool fresh = false;
  bool json = false;
};

// Returns those that only a measurement has.
std::vector<CLI::Option*> add_machine_options(CLI::App& command, MachineOptions& options);
void calibrate_machine(const MachineOptions& options);

// Model ÷ measured − 1 of random reads, cell by cell.
nlohmann::ordered_json json_of(const std::vector<calibration::CellErrors>& errors);
void print_errors(const std::vector<calibration::CellErrors>& errors);
std::string percent_text(std::optional<double> error);

}  // namespace leanstream::commands
