// Completion logs of cells: what a log says of its run, and whether a cell is that run.
#pragma once

#include <string>

#include "engine/backend/log_file.h"
#include "engine/config/parameter_info.h"
#include "experiments/run/cell.h"

namespace leanstream::run {

// The header: the tool that wrote it, and under "run" everything that decides what the scheduler
// does, resolved; of a live run also what a replay needs instead of the model.
config::Json log_header(const Cell& cell, const model::Activations& activations,
                        const std::string& backend);

// Throws UserError when the file is no sound log, or of another run than the cell; what differs is
// named one by one.
void check_log(const std::string& path, const Cell& cell);

// Whether the times of the log's run came from the platform's figures.
bool log_follows_platform(const std::string& path);

// The end mark of a run. Its results are the metrics of results.csv, by name.
backend::LogEnd log_end(const Cell& cell, const CellResult& result,
                        const std::string& completions_hash);

// What of a replay's results is not as its log's end mark says, a sentence for each; "" when all
// is.
std::string results_difference(const std::string& path, const Cell& cell, const CellResult& result);

// " (the log was written by …)" when that was another version than this, else "".
std::string other_writer(const std::string& path);

}  // namespace leanstream::run
