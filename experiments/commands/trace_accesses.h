// What the commands that replay a trace share: which blocks of it are looked up.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "traces/miss_ratio.h"
#include "traces/trace.h"

namespace leanstream::commands {

struct AccessOptions {
  std::string file;
  double density = 0.2;
  std::int32_t block_neurons = 1;
};

void add_access_options(CLI::App& command, AccessOptions& options);

// Appends what is wrong with the options, given the trace.
void check_access_options(const AccessOptions& options, const traces::Trace& trace,
                          std::vector<std::string>& problems);

// Throws UserError with all problems, if there are any.
void refuse(const std::vector<std::string>& problems);

}  // namespace leanstream::commands
