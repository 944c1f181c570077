// The commands of `leanstream`. Each adds itself to the command line and runs from its callback.
// A callback throws UserError for wrong input (status 2) and CommandFailed for status 1.
#pragma once

#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

namespace leanstream::commands {

// The command did its work and the answer is "no": a check or a cell failed (status 1).
class CommandFailed : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command line as it was typed, for manifests and for messages that say how to repeat a run.
const std::string& command_line();
// Called once by main: quoted so that a shell reads it back.
void set_command_line(int argc, const char* const* argv);

void add_bench(CLI::App& app);
void add_bench_caches(CLI::App& bench);  // commands of `bench`
void add_bench_storage(CLI::App& bench);
void add_calibrate(CLI::App& app);
void add_check(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_list(CLI::App& app);
void add_pack(CLI::App& app);
void add_record(CLI::App& app);
void add_report(CLI::App& app);
void add_run(CLI::App& app);
void add_sweep(CLI::App& app);
void add_synthesize(CLI::App& app);
void add_timeline(CLI::App& app);
void add_trace(CLI::App& app);
void add_trace_export(CLI::App& trace);  // commands of `trace`
void add_trace_fit(CLI::App& trace);
void add_trace_misses(CLI::App& trace);
void add_trace_placement(CLI::App& trace);
void add_train(CLI::App& app);
void add_train_placement(CLI::App& train);  // a command of `train`
void add_validate(CLI::App& app);

}  // namespace leanstream::commands
