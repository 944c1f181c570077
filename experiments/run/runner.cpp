#include "experiments/run/runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "experiments/report/csv.h"
#include "experiments/run/audit.h"
#include "experiments/run/cell_activations.h"
#include "experiments/run/cell_rows.h"
#include "experiments/run/child.h"
#include "experiments/run/likelihood.h"
#include "experiments/run/logs.h"
#include "experiments/run/manifest.h"
#include "experiments/run/progress.h"
#include "experiments/run/results.h"

namespace leanstream::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWriteEveryS = 5;

struct Tables {
  report::CsvTable results, tokens, timing, facts, nll;

  explicit Tables(const Cell& cell) {
    results.header = result_header(cell);
    tokens.header = token_header(cell);
    timing.header = timing_header();
    facts.header = facts_header();
    nll.header = nll_header();
  }
  void write(const std::string& folder) const {
    results.write(folder + "/results.csv");
    tokens.write(folder + "/tokens.csv");
    timing.write(folder + "/timing.csv");
    if (!facts.rows.empty()) facts.write(folder + "/facts.csv");
    if (!nll.rows.empty()) nll.write(folder + "/nll.csv");
  }
};

void append(Rows rows, report::CsvTable& table) {
  for (auto& row : rows) table.rows.push_back(std::move(row));
}

// Where the answer of a live run goes.
struct Answer {
  OnText on_text;    // as it comes; may be empty
  std::string path;  // all of it; "": nowhere
};

std::string run_in_child(std::size_t index, const Cell& cell, const std::string& backend,
                         const LogPaths& logs, const Answer& answer = {}) {
  const CellResult result = run_cell(cell, backend, logs, answer.on_text);
  if (!result.text.empty() && !answer.path.empty()) write_file(answer.path, result.text);
  return rows_as_text(index, cell, backend, result);
}

// The file to record to can be written, or the user hears of it before the run.
void check_logs(const RunnerOptions& options, const std::vector<Cell>& cells) {
  const LogPaths& logs = options.logs;
  for (const auto& [option, path] :
       {std::pair{"--log", &logs.play}, std::pair{"--log-completions", &logs.record}}) {
    if (path->empty() || cells.size() == 1) continue;
    throw UserError("{} is of one run, but {} has {} cells; set the swept parameters (key=value)",
                    option, options.experiment, cells.size());
  }
  if (!logs.play.empty()) check_log(logs.play, cells.front());
  if (logs.record.empty()) return;
  std::error_code ignored;
  if (!logs.play.empty() && std::filesystem::equivalent(logs.play, logs.record, ignored)) {
    throw UserError("{}: cannot be played and written at once", logs.record);
  }
  backend::LogWriter(logs.record, "");
}

// Runs an audited cell, whose first run was recorded, once more.
void repeat(std::size_t index, const Cell& cell, const RunnerOptions& options, const Repeat& first,
            Outcome& outcome) {
  const std::string log = fmt::format("{}/audit-{}-second.log", outcome.folder, index);
  const Repeat second{in_child([&] {
                        return run_in_child(index, cell, options.backend, {options.logs.play, log});
                      }),
                      log};
  ++outcome.audited;
  const std::string difference = repeat_difference(first, second);
  if (difference.empty()) {
    std::error_code ignored;
    std::filesystem::remove(second.log, ignored);
    if (options.logs.record.empty()) std::filesystem::remove(first.log, ignored);
    return;
  }
  outcome.differences.push_back(fmt::format("{} does not repeat: {}\nthe logs of both runs: {}, {}",
                                            label(cell), difference, first.log, second.log));
}

// Adds what the child said; returns a sentence when the cell did not end well.
std::string collect(const ChildOutcome& outcome, const Cell& cell, const std::string& backend,
                    Tables& tables) {
  CellRows rows = read_rows(outcome, cell, backend);
  append(std::move(rows.tokens), tables.tokens);
  append(std::move(rows.timing), tables.timing);
  append(std::move(rows.facts), tables.facts);
  append(std::move(rows.nll), tables.nll);
  tables.results.rows.push_back(std::move(rows.result));
  return rows.failure;
}

// Removes what an earlier run has left in the folder, but its logs.
void clear(const std::string& folder) {
  std::error_code ignored;
  for (const char* old :
       {"results.csv", "tokens.csv", "timing.csv", "facts.csv", "nll.csv", "report.html"}) {
    std::filesystem::remove(folder + "/" + old, ignored);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = file.path().filename();
    const bool is_answer = name.starts_with("text") && file.path().extension() == ".txt";
    if (is_answer) std::filesystem::remove(file.path(), ignored);
  }
}

// A live model computes on a device; what a log has of it can be played.
void check_live(const RunnerOptions& options, const std::vector<Cell>& cells) {
  if (options.backend == "hardware" || options.backend == "replay") return;
  for (const Cell& cell : cells) {
    if (!cell.live) continue;
    throw UserError(
        "activations: live runs the model itself, which backend '{}' does not compute; use "
        "--backend=hardware",
        options.backend);
  }
}

std::vector<Cell> checked_cells(const RunnerOptions& options) {
  backend::check_world(options.backend, options.logs.play);
  config::Diagnostics diagnostics;
  auto cells = load_cells(config::load_document(options.experiment, diagnostics),
                          options.assignments, diagnostics, options.logs.play);
  diagnostics.throw_if_any();
  check_live(options, cells);
  if (options.one_cell && cells.size() != 1) {
    throw UserError(
        "{} has {} cells; set the swept parameters (key=value) so that one is left, or "
        "use 'leanstream sweep'",
        options.experiment, cells.size());
  }
  check_devices(options.backend, cells);
  check_logs(options, cells);
  return cells;
}

}  // namespace

void check_devices(const std::string& backend, const std::vector<Cell>& cells) {
  const backend::CheckRun check = backend::run_check(backend);
  if (check == nullptr) return;
  for (const Cell& cell : cells) {
    CellActivations activations(cell);
    const CellPolicies policies(cell, activations.view());
    auto spec = world_spec(cell, policies, "");
    spec.observer = activations.observer();
    try {
      check(spec);
    } catch (const UserError& error) {
      if (cells.size() == 1) throw;
      throw UserError("{}: {}", label(cell), error.what());
    }
  }
}

Outcome run_experiment(const RunnerOptions& options) {
  const auto cells = checked_cells(options);
  Outcome outcome;
  outcome.cells = cells.size();
  outcome.folder = options.out.empty() ? "out/" + cells.front().spec.experiment.name : options.out;
  clear(outcome.folder);
  write_file(outcome.folder + "/manifest.json",
             manifest(cells, options.backend, options.command).dump(2) + "\n");
  Tables tables(cells.front());
  Progress progress(cells.size());
  auto written = Clock::now();
  const auto audited = options.audit > 0 ? audited_cells(cells.size(), options.audit,
                                                         cells.front().spec.experiment.seed)
                                         : std::vector<std::size_t>{};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    LogPaths logs = options.logs;
    const bool twice = std::binary_search(audited.begin(), audited.end(), i);
    if (twice && logs.record.empty())
      logs.record = fmt::format("{}/audit-{}-first.log", outcome.folder, i);
    const Answer answer{
        options.on_text,
        outcome.folder + (cells.size() == 1 ? "/text.txt" : fmt::format("/text-{}.txt", i))};
    const ChildOutcome child =
        in_child([&] { return run_in_child(i, cell, options.backend, logs, answer); });
    outcome.answered = outcome.answered || std::filesystem::exists(answer.path);
    const std::string why = collect(child, cell, options.backend, tables);
    if (!why.empty()) outcome.failures.push_back(fmt::format("{}: {}", label(cell), why));
    outcome.bug = outcome.bug || (!child.ended && child.status != 2 && !was_killed(child));
    if (twice) repeat(i, cell, options, {child, logs.record}, outcome);
    progress.show(i + 1, label(cell));
    if (std::chrono::duration<double>(Clock::now() - written).count() > kWriteEveryS) {
      tables.write(outcome.folder);
      written = Clock::now();
    }
  }
  tables.write(outcome.folder);
  return outcome;
}

}  // namespace leanstream::run
