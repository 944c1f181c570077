// Runs the cells of an experiment one after the other and writes their results.
#pragma once

#include <string>
#include <vector>

namespace leanstream::run {

struct RunnerOptions {
  std::string experiment;                // path of the YAML file
  std::vector<std::string> assignments;  // key=value
  std::string backend = "sim";
  std::string out;        // folder; "" for out/<name>
  std::string command;    // as typed, for the manifest
  bool one_cell = false;  // refuse what is more than one run
};

struct Outcome {
  std::string folder;
  std::size_t cells = 0;
  std::vector<std::string> failures;  // a sentence for each cell that did not end well
  bool bug = false;                   // one of them was ours
};

// Writes manifest.json first, then results.csv, tokens.csv and timing.csv, complete after every
// few cells, so that an interrupted sweep keeps what it has. A failed cell has a row that says so.
// Throws UserError for wrong input before anything is written.
Outcome run_experiment(const RunnerOptions& options);

}  // namespace leanstream::run
