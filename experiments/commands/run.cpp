// leanstream run and leanstream sweep.
#include <cstdio>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/units.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "experiments/report/csv.h"
#include "experiments/report/report.h"
#include "experiments/run/experiment.h"
#include "experiments/run/runner.h"

namespace leanstream::commands {
namespace {

struct RunOptions {
  run::RunnerOptions runner;
  std::optional<std::string> audit;  // as written
  bool json = false;
  bool no_report = false;
};

std::string rows_as_json(const std::string& folder) {
  const auto table = report::CsvTable::read(folder + "/results.csv");
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      // Metrics are numbers; names, and budgets as written, stay texts.
      const auto value = nlohmann::ordered_json::parse(row[i], nullptr, /*allow_exceptions=*/false);
      if (row[i].empty()) {
        object[table.header[i]] = nullptr;
      } else {
        object[table.header[i]] = value.is_number() && table.header[i] != "commands_hash"
                                      ? value
                                      : nlohmann::ordered_json(row[i]);
      }
    }
    rows.push_back(object);
  }
  return rows.dump(2);
}

// "5%" → 0.05
double audited_share(const std::string& text) {
  std::string error;
  const auto share = config::parse_quantity(text, config::Dimension::ratio, error);
  if (!share) throw UserError("--audit {}: {}", text, error);
  if (*share <= 0 || *share > 1)
    throw UserError("--audit {}: a share above 0%, at most 100%", text);
  return *share;
}

// An answer streams to the terminal as it comes.
void print_at_once(const std::string& piece) {
  std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
}

void execute(const RunOptions& options) {
  const run::Outcome outcome = run::run_experiment(options.runner);
  if (options.json) {
    std::printf("%s\n", rows_as_json(outcome.folder).c_str());
  } else {
    if (outcome.answered) std::printf("\n\n");
    const auto results = report::Results::load(outcome.folder);
    std::printf("%s\nresults: %s/results.csv\n", report::headline_text(results).c_str(),
                outcome.folder.c_str());
    if (!options.no_report) {
      std::printf("report: %s\n", report::write_report(results, "").c_str());
    }
  }
  if (outcome.audited > 0) {
    std::fprintf(options.json ? stderr : stdout, "audit: %zu of %zu cells run twice, %zu differ\n",
                 outcome.audited, outcome.cells, outcome.differences.size());
  }
  if (outcome.failures.empty() && outcome.differences.empty()) return;
  std::string text;
  for (const auto* list : {&outcome.failures, &outcome.differences}) {
    for (const auto& sentence : *list) text += "leanstream: " + sentence + "\n";
  }
  text += fmt::format("leanstream: {} of {} cells failed", outcome.failures.size(), outcome.cells);
  if (!outcome.differences.empty()) {
    text += fmt::format(", {} of {} audited differ", outcome.differences.size(), outcome.audited);
  }
  if (outcome.bug) throw std::runtime_error(text + "; repeat with: " + options.runner.command);
  throw CommandFailed(text);
}

void add(CLI::App& app, const char* name, const char* help, bool one_cell) {
  const auto is_named = [](const std::string& path) {
    return std::string(path.empty() ? "names no file" : "");
  };
  auto options = std::make_shared<RunOptions>();
  options->runner.one_cell = one_cell;
  options->no_report = one_cell;
  auto* command = app.add_subcommand(name, help);
  command->add_option("EXPERIMENT", options->runner.experiment, "experiment file (YAML)")
      ->required();
  command->add_option("ASSIGNMENTS", options->runner.assignments,
                      "key=value: set a parameter by its dotted name");
  command->add_option("--backend", options->runner.backend, "the world that carries it out")
      ->capture_default_str();
  command->add_option("--out", options->runner.out, "output folder (default: out/<name>)");
  command->add_flag("--json", options->json, "print the results as JSON, nothing else");
  command
      ->add_option("--log-completions", options->runner.logs.record,
                   "write what the world was asked and answered, to be played by "
                   "--backend=replay; of one run")
      ->check(is_named);
  command->add_option("--log", options->runner.logs.play, "the log that --backend=replay plays")
      ->check(is_named);
  if (!one_cell) {
    command->add_flag("--no-report", options->no_report, "do not write report.html");
    command->add_option("--audit", options->audit,
                        "run this share of the cells twice (5%; at least one) and compare all that "
                        "happened");
  }
  command->footer([] {
    return "Parameters of an experiment file, all of which key=value can set:\n" +
           table_text(config::parameter_rows(run::experiment_table().describe())) +
           "Any of them, and 'system_changes' and 'platform_changes' by dotted names, may have a "
           "list "
           "under\n'sweep:' (sweep.NAME=[...]). Systems' and policies' parameters: leanstream "
           "list.";
  });
  command->callback([options, one_cell] {
    options->runner.command = command_line();
    if (one_cell && !options->json) options->runner.on_text = print_at_once;
    if (options->audit) options->runner.audit = audited_share(*options->audit);
    execute(*options);
  });
}

}  // namespace

void add_run(CLI::App& app) {
  add(app, "run", "one run of an experiment", true);
}

void add_sweep(CLI::App& app) {
  add(app, "sweep", "all cells of an experiment, then a report", false);
}

}  // namespace leanstream::commands
