// manifest.json: what a folder of results is, written before the first run starts.
#pragma once

#include <string>
#include <vector>

#include "engine/config/parameter_info.h"
#include "experiments/run/cell.h"

namespace leanstream::run {

// "2026-11-30T12:00:00Z"
std::string utc_now();

// `command` is the command line as typed.
config::Json manifest(const std::vector<Cell>& cells, const std::string& backend,
                      const std::string& command);

}  // namespace leanstream::run
