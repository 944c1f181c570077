// leanstream report DIR: the HTML report of a results folder.
#include "experiments/report/report.h"

#include <memory>

#include <fmt/format.h>

#include "experiments/commands/commands.h"

namespace leanstream::commands {

void add_report(CLI::App& app) {
  struct Options {
    std::string folder;
    std::string out;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "one HTML file from a results folder");
  command->add_option("DIR", options->folder, "folder with results.csv")->required();
  command->add_option("--out", options->out, "the file to write (default: DIR/report.html)");
  command->callback([options] {
    const auto results = report::Results::load(options->folder);
    const std::string path = report::write_report(results, options->out);
    fmt::print("{}\nreport: {}\n", report::headline_text(results), path);
  });
}

}  // namespace leanstream::commands
