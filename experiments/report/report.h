// `leanstream report`: a results folder becomes one HTML file that needs no network.
#pragma once

#include <string>

#include "experiments/report/results.h"

namespace leanstream::report {

// Writes the page atomically; "" as path means report.html in the results folder. Returns the path.
// Throws UserError for cells that are not numbers or when gnuplot cannot draw.
std::string write_report(const Results& results, const std::string& path = "");

// The page itself.
std::string report_html(const Results& results);

// The headline table as plain text for a terminal: a system a row, a budget a column, each cell
// "tokens/s (importance share)".
std::string headline_text(const Results& results);

const char* style_sheet();

}  // namespace leanstream::report
