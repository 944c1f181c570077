// What a run of a cell adds to the tables of results. It comes as text out of the process that the
// run had for itself.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"
#include "experiments/run/child.h"

namespace leanstream::run {

using Rows = std::vector<std::vector<std::string>>;

struct CellRows {
  std::vector<std::string> result;  // without figures when the run failed
  Rows tokens, timing, facts, nll;  // none when the process did not end well
  std::string failure;              // why the cell did not end well; "" when it did
};

// In the child: the rows of a run as text.
std::string rows_as_text(std::size_t index, const Cell& cell, const std::string& backend,
                         const CellResult& result);
// In the parent: the rows of such a text, or of a run that has said nothing.
CellRows read_rows(const ChildOutcome& outcome, const Cell& cell, const std::string& backend);

// The run was killed, by somebody or for lack of memory.
bool was_killed(const ChildOutcome& outcome);

}  // namespace leanstream::run
