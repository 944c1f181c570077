// Scenarios: small cases whose exact commands were worked out by hand, one YAML file each in
// scenarios/. tests/README.md describes the keys.
#pragma once

#include <string>
#include <vector>

#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {

// What a run counted in all decoded tokens must be.
struct Figure {
  std::string name;
  std::int64_t Tally::*figure;
  std::int64_t value;
};

struct Scenario {
  std::string description;
  SmallRun run;
  std::vector<std::string> commands;  // VirtualWorld's transcript
  std::vector<Figure> tally;
  std::string refused;  // in the message of a run that is not begun
  std::string failure;  // in what ended the run early
};

// Throws UserError with everything that is wrong in the file.
Scenario read_scenario(const std::string& path);

// Expected and got side by side, every line that differs marked; "" when they are equal.
std::string difference(const std::vector<std::string>& expected, const SmallRun& got);

}  // namespace leanstream::scheduler
