// The commands of `leanstream`. Each adds itself to the command line and runs from its callback.
// A callback throws UserError for wrong input (status 2) and CommandFailed for status 1.
#pragma once

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <string>

namespace leanstream::commands {

// The command did its work and the answer is "no": a check or a cell failed (status 1).
class CommandFailed : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command line as it was typed, for manifests and for messages that say how to repeat a run.
std::string& command_line();

void add_check(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_list(CLI::App& app);
void add_record(CLI::App& app);
void add_report(CLI::App& app);
void add_run(CLI::App& app);
void add_sweep(CLI::App& app);
void add_trace(CLI::App& app);

}  // namespace leanstream::commands
