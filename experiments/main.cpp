// leanstream: the one program. Exit status: 0 done, 1 a cell or a check failed, 2 the user's input
// is wrong, 70 a bug.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "experiments/commands/commands.h"
#include "experiments/run/version.h"

namespace {

// The parser only says that a command is missing; a mistyped one deserves its name and the nearest.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  throw leanstream::UserError("there is no command '{}'; there are: {}{}", argv[1],
                              fmt::join(names, ", "), leanstream::suggestion(argv[1], names));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"LeanStream: LLM inference with MLP weights streamed from flash"};
  const auto& version = leanstream::run::version();
  app.set_version_flag("--version",
                       fmt::format("leanstream {} ({}{}), {}", version.version, version.commit,
                                   version.dirty ? ", changed" : "", version.build));
  app.require_subcommand(1);
  leanstream::commands::add_bench(app);
  leanstream::commands::add_calibrate(app);
  leanstream::commands::add_check(app);
  leanstream::commands::add_evaluate(app);
  leanstream::commands::add_list(app);
  leanstream::commands::add_pack(app);
  leanstream::commands::add_record(app);
  leanstream::commands::add_report(app);
  leanstream::commands::add_run(app);
  leanstream::commands::add_sweep(app);
  leanstream::commands::add_synthesize(app);
  leanstream::commands::add_timeline(app);
  leanstream::commands::add_trace(app);
  leanstream::commands::add_train(app);
  leanstream::commands::add_validate(app);
  leanstream::commands::set_command_line(argc, argv);
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    std::fputs("leanstream: cannot write to the standard output\n", stderr);
    return 1;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const leanstream::commands::CommandFailed& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return 1;
  } catch (const leanstream::UserError& error) {
    std::fprintf(stderr, "leanstream: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leanstream: bug: %s\n", error.what());
    return 70;
  }
}
