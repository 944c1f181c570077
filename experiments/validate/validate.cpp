#include "experiments/validate/validate.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/config/find_file.h"
#include "experiments/run/manifest.h"
#include "experiments/run/progress.h"
#include "experiments/run/runner.h"
#include "experiments/run/version.h"
#include "experiments/validate/ablation.h"
#include "experiments/validate/bundle.h"
#include "experiments/validate/calibrated.h"
#include "experiments/validate/summary.h"
#include "platforms/probe/machine.h"

namespace leanstream::validate {
namespace {

namespace fs = std::filesystem;
using config::Json;
using run::Cell;

run::CellRows run_once(std::size_t number, const Cell& cell, const std::string& world) {
  return run::read_rows(run::in_child([&] {
                          return run::rows_as_text(number, cell, world, run::run_cell(cell, world));
                        }),
                        cell, world);
}

// Simulates a repetition of a cell unless the table has it. Without chance one is all.
void simulate(std::size_t number, Cell cell, std::uint64_t repetition, report::CsvTable& table) {
  const bool chance = cell.spec.experiment.fidelity == backend::Fidelity::request;
  if ((repetition > 0 && !chance) || has_simulated(table, number, repetition)) return;
  cell.repetition = repetition;
  add_simulated(table, number, cell, run_once(number, cell, "sim"));
}

// The cells in another order each time.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed, "validate.order");
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  return order;
}

void measure(std::size_t number, int run, const Cell& cell, MeasuredRuns& measured) {
  const std::string& image = cell.spec.experiment.hardware.image;
  const std::string started = run::utc_now();
  const Probe before = probe(image);
  const run::CellRows rows = run_once(number, cell, "hardware");
  measured.add({number, run, measured.attempts(number, run)}, cell, started,
               mean(before, probe(image)), rows);
}

// Rounds over all cells, each in another order, so that a slow drift meets all alike; then what
// drifted or failed again, a round for each further attempt.
void measure_all(const Bundle& bundle, const std::vector<Cell>& cells, const Options& options,
                 MeasuredRuns& measured, report::CsvTable& simulated) {
  const std::uint64_t seed = cells.front().spec.experiment.seed;
  run::Progress progress(cells.size() * static_cast<std::size_t>(options.runs), "runs");
  std::size_t done = 0;
  for (int attempt = 0; attempt <= options.repeat_limit; ++attempt) {
    for (int run = 0; run < options.runs; ++run) {
      const auto round = static_cast<std::uint64_t>(attempt * options.runs + run);
      for (const std::size_t number : shuffled(cells.size(), seed + round)) {
        if (attempt == 0) ++done;
        // What an earlier start of this bundle has tried is not tried again.
        if (!measured.lacks(number, run) || measured.attempts(number, run) > attempt) continue;
        measure(number, run, cells[number], measured);
        measured.write(bundle.path("measured.csv"));
        simulate(number, cells[number], static_cast<std::uint64_t>(run), simulated);
        simulated.write(bundle.path("simulated.csv"));
        progress.show(done, run::label(cells[number]));
      }
    }
  }
}

Json describe_simulation(const Bundle& bundle, const std::vector<Cell>& cells,
                         const std::vector<std::string>& assignments) {
  const run::Version& v = run::version();
  return {{"created", run::utc_now()},
          {"version", v.version},
          {"commit", v.commit},
          {"dirty", v.dirty},
          {"platform_hash", cells.front().platform.hash},
          {"assignments", assignments},
          {"identity", bundle.manifest["identity"]}};
}

const MetricSummary& or_nothing(const std::vector<MetricSummary>& all, const std::string& metric) {
  static const MetricSummary nothing;
  const MetricSummary* found = find(all, metric);
  return found ? *found : nothing;
}

// `full` is the simulation with every effect.
Ablated ablated(const std::string& effect, std::size_t cells, const MeasuredRuns& measured,
                const report::CsvTable& full, const report::CsvTable& without) {
  const auto errors = summarise(compare(cells, measured.table(), without));
  const auto moved = summarise(compare(cells, full, without));
  return {effect, or_nothing(errors, "tpot_ms_mean"), or_nothing(errors, "tpot_ms_p99"),
          or_nothing(errors, "prefill_ms"), or_nothing(moved, "tpot_ms_mean")};
}

std::vector<Ablated> ablate(const Source& source, const std::vector<std::string>& more,
                            const std::vector<Cell>& cells, const MeasuredRuns& measured) {
  const auto once = [](const std::vector<Cell>& all) {
    auto table = simulated_table(all.front());
    for (std::size_t i = 0; i < all.size(); ++i) simulate(i, all[i], 0, table);
    return table;
  };
  const auto full = once(cells);
  std::vector<Ablated> result{ablated("", cells.size(), measured, full, full)};
  const auto all = effects();
  run::Progress progress(all.size(), "effects");
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto assignments = more;
    assignments.insert(assignments.end(), all[i].off.begin(), all[i].off.end());
    const auto without = load(source, assignments);
    if (differ(cells, without)) {
      result.push_back(ablated(all[i].name, cells.size(), measured, full, once(without)));
    }
    progress.show(i + 1, all[i].name);
  }
  return result;
}

struct Written {
  const Bundle& bundle;
  const Json& simulation;
  std::string folder;  // where the summary goes
};

void write_summary(const Summary& summary, const Written& to) {
  const auto path = [&](const char* file) { return to.folder + "/" + file; };
  summary_table(summary).write(path("summary.csv"));
  if (summary.ablation.empty()) {
    fs::remove(path("ablation.csv"));  // it would be of an earlier simulation
  } else {
    ablation_table(summary.ablation).write(path("ablation.csv"));
  }
  write_file(path("summary.md"), summary_text(summary, to.bundle.manifest, to.simulation));
  write_file(path("time_per_token.svg"), plot(summary, "tpot_ms_mean", "time per token (ms)"));
  write_file(path("time_per_token_p99.svg"),
             plot(summary, "tpot_ms_p99", "99th percentile of time per token (ms)"));
}

void list(const Summary& summary, const std::vector<Cell>& cells, const Written& to) {
  const fs::path folder = fs::path(to.folder).lexically_normal();
  const fs::path root = folder.parent_path().parent_path();
  const MetricSummary& time = or_nothing(summary.metrics, "tpot_ms_mean");
  const auto share = [](double value) { return fmt::format("{:.4f}", value); };
  add_to_index((root / "index.csv").string(),
               {.date = to.simulation["created"],
                .platform = cells.front().platform.platform.name,
                .model = cells.front().model.shape.name,
                .folder = folder.lexically_relative(root).string(),
                .cells = cells.size(),
                .runs = summary.runs,
                .repeated = summary.repeated,
                .median_error = share(time.median_error),
                .nine_of_ten = share(time.nine_of_ten),
                .worst_error = share(time.worst),
                .worst_cell = summary.names[time.worst_cell],
                .simulated_with = fmt::format("{} {}", cells.front().platform.hash.substr(0, 12),
                                              to.simulation["commit"].get<std::string>()),
                .draft = to.bundle.manifest.value("draft", false)});
}

Outcome outcome_of(const Summary& summary, const Written& to) {
  Outcome outcome{to.folder, summary_text(summary, to.bundle.manifest, to.simulation),
                  summary_json(summary, to.folder), 0};
  for (const Comparison& c : summary.comparisons) {
    outcome.failed += c.metric == "tpot_ms_mean" && !c.error;
  }
  return outcome;
}

std::string text_of(const platform::Calibration& calibration) {
  return fmt::format("{} on {}; reads of {} bytes from {}, MLPs of {}", calibration.date,
                     calibration.machine, fmt::join(calibration.read_sizes, ", "),
                     calibration.files, fmt::join(calibration.shapes, ", "));
}

// What a platform's file must say so that these cells judge it; the text is for the manifest.
std::string check_calibration(const std::vector<Cell>& cells, const std::string& machine,
                              bool draft) {
  const platform::Platform& platform = cells.front().platform.platform;
  const auto& calibration = platform.calibration;
  std::vector<std::string> wrong;
  if (!calibration) {
    wrong.push_back("it says nothing of a calibration ('leanstream calibrate')");
  } else {
    if (calibration->machine != machine) {
      wrong.push_back(fmt::format("it was calibrated on another machine: {}; this is {}",
                                  calibration->machine, machine));
    }
    for (auto& sentence : seen_in_calibration(*calibration, cells)) wrong.push_back(sentence);
  }
  if (!wrong.empty() && !draft) {
    throw UserError("platform {} cannot be validated with these cells (--draft: as a trial):\n  {}",
                    platform.name, fmt::join(wrong, "\n  "));
  }
  return calibration ? text_of(*calibration) : "none";
}

Bundle open(const Options& options, const Source& source, const std::vector<Cell>& cells) {
  run::check_devices("hardware", cells);
  const std::string& image = cells.front().spec.experiment.hardware.image;
  const std::string machine = probe::this_machine(image).text();
  const std::string calibration = check_calibration(cells, machine, options.draft);
  const std::string root = !options.out.empty() ? options.out
                           : options.draft      ? "out/validation"
                                                : config::data_root() + "/platforms/validation";
  Json manifest = describe(source, cells, machine, options.command);
  manifest["calibration"] = calibration;
  manifest["draft"] = options.draft;
  return open_bundle(root, manifest, source, cells, options.replace);
}

void check(const Options& options) {
  if (options.runs < 5 && !options.draft) {
    throw UserError("--runs {}: a validation has at least 5 runs a cell (--draft: a trial)",
                    options.runs);
  }
  for (const char* world : {"hardware", "sim"}) backend::check_world(world);
}

}  // namespace

Outcome validate(const Options& options) {
  check(options);
  const Source source{options.experiment, read_file(options.experiment), options.assignments};
  const auto cells = load(source);
  check_cells(cells, source.path);
  const Bundle bundle = open(options, source, cells);
  MeasuredRuns measured(cells.front());
  auto simulated = simulated_table(cells.front());
  const Json simulation = describe_simulation(bundle, cells, {});
  if (fs::exists(bundle.path("measured.csv"))) measured.go_on(bundle.path("measured.csv"));
  // Unless they were simulated anew, by another program or platform.
  if (fs::exists(bundle.path("simulated.csv")) && !fs::exists(bundle.path("simulation.json"))) {
    simulated = report::CsvTable::read(bundle.path("simulated.csv"));
  }
  measure_all(bundle, cells, options, measured, simulated);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (int run = 0; run < options.runs; ++run) {
      simulate(i, cells[i], static_cast<std::uint64_t>(run), simulated);
    }
  }
  simulated.write(bundle.path("simulated.csv"));
  write_file(bundle.path("simulation.json"), simulation.dump(2) + "\n");
  Summary summary = judge(cells, measured, simulated);
  if (options.ablation) summary.ablation = ablate(source, {}, cells, measured);
  const Written to{bundle, simulation, bundle.folder};
  write_summary(summary, to);
  list(summary, cells, to);
  return outcome_of(summary, to);
}

Outcome summarise_again(const std::string& folder, const Options& options) {
  if (!options.assignments.empty() && options.out.empty()) {
    throw UserError(
        "--summarise with key=value simulates something else than was measured: name "
        "another folder for it (--out)");
  }
  backend::check_world("sim");
  Source source;
  const Bundle bundle = read_bundle(folder, source);
  const auto cells = load(source, options.assignments);
  MeasuredRuns measured(cells.front());
  measured.read(bundle.path("measured.csv"));
  const auto listed = report::CsvTable::read(bundle.path("cells.csv"));
  if (options.assignments.empty() && listed.to_text() != cells_table(cells).to_text()) {
    throw UserError(
        "{}: its cells are not what configuration.yaml now gives; the model, a system "
        "or the trace was changed since",
        bundle.path("cells.csv"));
  }
  int runs = 1;
  for (std::size_t row = 0; row < measured.table().rows.size(); ++row) {
    runs = std::max(runs, static_cast<int>(*measured.table().number(row, "run")) + 1);
  }
  auto simulated = simulated_table(cells.front());
  run::Progress progress(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (int run = 0; run < runs; ++run) {
      simulate(i, cells[i], static_cast<std::uint64_t>(run), simulated);
    }
    progress.show(i + 1, run::label(cells[i]));
  }
  const Json simulation = describe_simulation(bundle, cells, options.assignments);
  Summary summary = judge(cells, measured, simulated);
  if (options.ablation) summary.ablation = ablate(source, options.assignments, cells, measured);
  const Written to{bundle, simulation, options.out.empty() ? folder : options.out};
  simulated.write(to.folder + "/simulated.csv");
  write_file(to.folder + "/simulation.json", simulation.dump(2) + "\n");
  write_file(to.folder + "/platform-simulated.yaml", read_file(cells.front().platform.path));
  write_summary(summary, to);
  if (options.out.empty()) list(summary, cells, to);
  return outcome_of(summary, to);
}

}  // namespace leanstream::validate
