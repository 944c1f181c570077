// leanstream calibrate: this machine as a platform; or the flash section of one, from a table of
// random reads.
#include "experiments/commands/calibrate.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "experiments/commands/commands.h"
#include "platforms/calibration/fit.h"
#include "platforms/calibration/platform_yaml.h"

namespace leanstream::commands {
namespace {

using calibration::CellErrors;
using calibration::StorageTable;
using Json = nlohmann::ordered_json;

struct CalibrateOptions {
  std::string table;
  std::vector<std::string> fio;
  std::string base = "oneplus-13";
  std::string out;
  std::optional<int> half;
  bool json = false;
};

// Where the measurements are from, for references.
std::string names_of(const CalibrateOptions& o) {
  std::vector<std::string> names = o.fio;
  if (!o.table.empty()) names.insert(names.begin(), o.table);
  return config::join(names);
}

StorageTable load(const CalibrateOptions& o) {
  config::Diagnostics diagnostics;
  StorageTable table;
  if (!o.table.empty()) {
    table = calibration::read_csv(read_file(o.table), o.table, diagnostics);
  }
  for (const auto& path : o.fio) {
    calibration::read_fio(read_file(path), path, table, diagnostics);
  }
  diagnostics.throw_if_any();
  return table;
}

void print_figures(const platform::Flash& flash) {
  const auto values = platform::flash_section(flash);
  for (const char* name : {"latency", "stream_bandwidth", "bandwidth", "requests",
                           "request_overhead", "span", "batch", "spread"}) {
    fmt::print("{:17} {}\n", name, config::plain_text(values.at(name)));
  }
}

void execute(const CalibrateOptions& o) {
  const StorageTable table = load(o);
  const auto base = platform::load_platform(o.base);
  const auto fitted_cells = o.half ? table.half(*o.half) : table.cells;
  const auto fit = calibration::fit(table, fitted_cells, base.platform.flash);
  const auto judged = o.half ? table.half(1 - *o.half) : fitted_cells;
  const auto errors = calibration::errors(fit.flash, judged);
  if (!o.out.empty()) {
    const auto summary = calibration::summarise(calibration::errors(fit.flash, fitted_cells));
    write_file(o.out, calibration::platform_text(fit, summary, names_of(o), base));
  }
  if (o.json) {
    fmt::print(
        "{}\n",
        Json{{"flash", platform::flash_section(fit.flash)}, {"cells", json_of(errors)}}.dump(2));
    return;
  }
  if (!table.ignored_columns.empty()) {
    fmt::print("columns that are not read: {}\n", config::join(table.ignored_columns));
  }
  print_figures(fit.flash);
  if (o.half) fmt::print("fitted to half {}, judged by the other\n", *o.half);
  print_errors(errors);
  if (!o.out.empty()) fmt::print("{}: all but the flash as {}\n", o.out, o.base);
}

}  // namespace

Json json_of(const std::vector<CellErrors>& errors) {
  const auto or_null = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  Json cells = Json::array();
  for (const CellErrors& one : errors) {
    cells.push_back({{"bytes", one.cell.bytes},
                     {"depth", one.cell.depth},
                     {"requests_per_s", one.cell.requests_per_s},
                     {"rate_error", one.rate},
                     {"p50_error", or_null(one.p50)},
                     {"p99_error", or_null(one.p99)}});
  }
  return cells;
}

std::string percent_text(std::optional<double> error) {
  return error ? fmt::format("{:+6.1f} %", 100 * *error) : std::string("       –");
}

void print_errors(const std::vector<CellErrors>& errors) {
  fmt::print(
      "   KiB at once  reads/s      model less measured\n"
      "                              rate      p50      p99\n");
  for (const CellErrors& one : errors) {
    fmt::print("{:6.0f} {:7} {:8.0f}  {} {} {}\n", static_cast<double>(one.cell.bytes) / 1024,
               one.cell.depth, one.cell.requests_per_s, percent_text(one.rate),
               percent_text(one.p50), percent_text(one.p99));
  }
  const auto summary = calibration::summarise(errors);
  const auto line = [](const char* name, const calibration::Quality& q) {
    fmt::print("{}: median error {:.1f} %, worst {:.1f} %\n", name, 100 * q.median, 100 * q.worst);
  };
  line("rate", summary.rate);
  if (summary.p50) line("p50", *summary.p50);
  if (summary.p99) line("p99", *summary.p99);
}

void add_calibrate(CLI::App& app) {
  auto o = std::make_shared<CalibrateOptions>();
  auto* command = app.add_subcommand(
      "calibrate",
      "measures this machine and writes its platform file; or fits a platform's flash section to a "
      "table of random reads");
  auto machine = std::make_shared<MachineOptions>();
  const auto measuring = add_machine_options(*command, *machine);
  auto* table =
      command->add_option("--from-table", o->table, "CSV: bs_kib, qd or lanes, iops or mib_s, …");
  auto* fio = command->add_option("--from-fio", o->fio, "JSON of fio; may be given several times");
  for (CLI::Option* option : measuring) {
    option->excludes(table);
    option->excludes(fio);
  }
  auto* base = command->add_option("--base", o->base, "platform that says what the table cannot")
                   ->capture_default_str();
  auto* half =
      command->add_option("--half", o->half, "fit only the cells of this half, judge by the other")
          ->check(CLI::Range(0, 1));
  command->add_option("--out", o->out, "platform file to write; measured samples lie beside it");
  command->add_flag("--json", o->json, "JSON to stdout");
  command->callback([o, machine, base, half] {
    if (!o->table.empty() || !o->fio.empty()) return execute(*o);
    if (base->count() + half->count() > 0) {
      throw UserError("calibrate: --base and --half belong to --from-table or --from-fio");
    }
    machine->out = o->out;
    machine->json = o->json;
    calibrate_machine(*machine);
  });
}

}  // namespace leanstream::commands
