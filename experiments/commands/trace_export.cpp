// leanstream trace export: a trace's block accesses for other cache simulators.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiments/commands/choice.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/trace_accesses.h"
#include "traces/access_log.h"

namespace leanstream::commands {
namespace {

using traces::AccessFormat;

struct ExportOptions {
  AccessOptions accesses;
  AccessFormat format = AccessFormat::oracle_general;
  std::string out;
};

void execute(const ExportOptions& o) {
  const traces::Trace trace(o.accesses.file);
  std::vector<std::string> problems;
  check_access_options(o.accesses, trace, problems);
  refuse(problems);
  const auto accesses = traces::block_accesses(trace, o.accesses.density, o.accesses.block_neurons);
  const auto count = traces::write_accesses(accesses.sets, o.format, o.out);
  fmt::print("{}: {} accesses to {} blocks of {} layers\n", o.out, count, accesses.sets.neurons(),
             accesses.sets.layers());
}

}  // namespace

void add_trace_export(CLI::App& trace) {
  auto* command =
      trace.add_subcommand("export", "block accesses in the formats of cache simulators");
  const auto o = std::make_shared<ExportOptions>();
  add_access_options(*command, o->accesses);
  add_choice(*command, "--format", o->format,
             {{"oracleGeneral", AccessFormat::oracle_general}, {"csv", AccessFormat::csv}},
             "oracleGeneral (the binary of libCacheSim), or csv: time,token,layer,block,size");
  command->add_option("--out", o->out, "the file")->required();
  command->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
