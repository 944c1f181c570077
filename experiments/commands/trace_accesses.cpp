#include "experiments/commands/trace_accesses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"

namespace leanstream::commands {

void add_access_options(CLI::App& command, AccessOptions& options) {
  command.add_option("TRACE", options.file, "trace file")->required();
  command.add_option("--density", options.density, "share of a layer's blocks that a token wants")
      ->capture_default_str();
  command
      .add_option("--block-neurons", options.block_neurons,
                  "neighbours that are one block; blocks are chosen by their summed importance")
      ->capture_default_str();
}

void check_access_options(const AccessOptions& o, const traces::Trace& trace,
                          std::vector<std::string>& problems) {
  if (!(o.density > 0 && o.density <= 1)) {
    problems.push_back(fmt::format("--density {}: a share above 0, at most 1", o.density));
  }
  if (o.block_neurons < 1 || o.block_neurons > trace.ffn()) {
    problems.push_back(fmt::format("--block-neurons {}: 1 … {}, the neurons of a layer",
                                   o.block_neurons, trace.ffn()));
  }
}

void refuse(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw UserError("{}", fmt::join(problems, "\n"));
}

}  // namespace leanstream::commands
