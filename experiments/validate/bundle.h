// The folder of a validation: where it lies, what it says of itself, and the list of all of them.
#pragma once

#include <string>
#include <vector>

#include "engine/config/parameter_info.h"
#include "experiments/report/csv.h"
#include "experiments/run/cell.h"

namespace leanstream::validate {

// What the cells come from: the text of an experiment file, from where its relative paths lead, and
// the command line's key=value.
struct Source {
  std::string path;
  std::string text;
  std::vector<std::string> assignments;
};
// Throws UserError with all that is wrong. `more`: further assignments.
std::vector<run::Cell> load(const Source& source, const std::vector<std::string>& more = {});

// A validation compares like with like: recorded activations, one platform, one model. Throws
// UserError.
void check_cells(const std::vector<run::Cell>& cells, const std::string& path);

struct Bundle {
  std::string folder;
  config::Json manifest;
  bool is_new = true;

  std::string path(const char* file) const { return folder + "/" + file; }
};

// What is measured, by whom and with what; a hash of all that makes two bundles the same is under
// `identity`.
config::Json describe(const Source& source, const std::vector<run::Cell>& cells,
                      const std::string& machine, const std::string& command);

// ROOT/PLATFORM/MODEL, or MODEL-2, MODEL-3, … where others lie: evidence is not overwritten. One
// with the same identity is gone on with. `replace`: MODEL itself, whatever lies there. Writes
// manifest.json, configuration.yaml (the experiment), platform.yaml and cells.csv of a new one.
Bundle open_bundle(const std::string& root, const config::Json& manifest, const Source& source,
                   const std::vector<run::Cell>& cells, bool replace);
// One that is there, and its cells as they are now.
Bundle read_bundle(const std::string& folder, Source& source);

report::CsvTable cells_table(const std::vector<run::Cell>& cells);

// A line of ROOT/index.csv for each bundle and each change of one; lines are only ever added.
struct IndexLine {
  std::string date, platform, model, folder;
  std::size_t cells = 0, runs = 0, repeated = 0;
  std::string median_error, nine_of_ten, worst_error;  // of the time per token
  std::string worst_cell, simulated_with;
  bool draft = false;
};
// Nothing is added when the folder's newest line says the same but for the date.
void add_to_index(const std::string& path, const IndexLine& line);

}  // namespace leanstream::validate
