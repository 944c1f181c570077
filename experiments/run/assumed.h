// Which guesses a run rests on.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::run {

// Names of the platform's figures whose source is `assumed` and on which results of the cell may
// depend. `follows_platform`: times come from the platform's figures.
std::vector<std::string> assumed_figures(const Cell& cell, bool follows_platform);

}  // namespace leanstream::run
