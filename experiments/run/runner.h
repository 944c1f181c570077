// Runs the cells of an experiment one after the other and writes their results.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::run {

struct RunnerOptions {
  std::string experiment;                // path of the YAML file
  std::vector<std::string> assignments;  // key=value
  std::string backend = "sim";
  std::string out;        // folder; "" for out/<name>
  std::string command;    // as typed, for the manifest
  bool one_cell = false;  // refuse what is more than one run
  LogPaths logs;          // of the one cell
  OnText on_text;         // gets the answer of a live run; may be empty
  double audit = 0;       // share of the cells that are run twice and compared; 0: none
};

struct Outcome {
  std::string folder;
  std::size_t cells = 0;
  std::vector<std::string> failures;  // a sentence for each cell that did not end well
  bool bug = false;                   // one of them was ours
  bool answered = false;              // a prompt: its text is in the folder
  std::size_t audited = 0;
  std::vector<std::string> differences;  // that the audit found, a text for each cell
};

// Throws UserError for what a world of real devices lacks for one of the cells.
void check_devices(const std::string& backend, const std::vector<Cell>& cells);

// Writes manifest.json first, then results.csv, tokens.csv, timing.csv and, of real devices,
// facts.csv, of live runs nll.csv (a text) or text.txt (an answer; text-CELL.txt in a sweep),
// complete after every few cells, so that an interrupted sweep keeps what it has. A failed cell has
// a row that says so.
// Throws UserError for wrong input before anything is written.
Outcome run_experiment(const RunnerOptions& options);

}  // namespace leanstream::run
