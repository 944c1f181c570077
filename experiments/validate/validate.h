// leanstream validate: the same cells in both worlds, and how far they are apart.
#pragma once

#include <string>
#include <vector>

#include "engine/config/parameter_info.h"

namespace leanstream::validate {

struct Options {
  std::string experiment;                // path of the YAML file
  std::vector<std::string> assignments;  // key=value
  std::string out;                       // root of the bundles; "" for the default
  std::string command;                   // as typed
  int runs = 5;
  int repeat_limit = 3;
  bool draft = false;  // no evidence: fewer runs, a platform that was not calibrated here
  bool replace = false;
  bool ablation = false;
};

struct Outcome {
  std::string folder;
  std::string text;  // summary.md
  config::Json summary;
  std::size_t failed = 0;  // hardware runs that have no good attempt
};

// Measures and simulates in turn, then summarises. Every run is written at once: an interrupted
// bundle goes on where it stopped. Throws UserError for what cannot run or would be no validation.
Outcome validate(const Options& options);

// Simulates the cells of a bundle anew, with the platform files and the program as they are now,
// and judges them by what was measured then. Assignments change the simulation; then `out`, a
// folder, must be given, and the bundle stays as it is.
Outcome summarise_again(const std::string& folder, const Options& options);

}  // namespace leanstream::validate
