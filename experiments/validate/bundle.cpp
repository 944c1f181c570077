#include "experiments/validate/bundle.h"

#include <filesystem>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "experiments/run/manifest.h"
#include "experiments/validate/calibrated.h"

namespace leanstream::validate {
namespace {

namespace fs = std::filesystem;
using config::Json;

std::string identity_of(Json manifest) {
  for (const char* changes : {"command", "created"}) manifest.erase(changes);
  const std::string text = manifest.dump();
  return hash_bytes(std::as_bytes(std::span(text)));
}

Json read_json(const std::string& path) {
  try {
    return Json::parse(read_file(path));
  } catch (const Json::exception&) {
    throw UserError("{}: no JSON", path);
  }
}

}  // namespace

std::vector<run::Cell> load(const Source& source, const std::vector<std::string>& more) {
  config::Diagnostics diagnostics;
  auto assignments = source.assignments;
  assignments.insert(assignments.end(), more.begin(), more.end());
  auto cells = run::load_cells(config::parse_document(source.text, source.path, diagnostics),
                               assignments, diagnostics);
  diagnostics.throw_if_any();
  return cells;
}

void check_cells(const std::vector<run::Cell>& cells, const std::string& path) {
  const run::Cell& first = cells.front();
  for (const run::Cell& cell : cells) {
    if (cell.live) {
      throw UserError(
          "{}: activations: live computes on hardware alone; a validation runs both "
          "worlds on a recorded 'trace'",
          path);
    }
    if (cell.platform.path != first.platform.path || cell.platform.hash != first.platform.hash ||
        cell.model.shape.name != first.model.shape.name) {
      throw UserError("{}: a bundle is of one platform and one model; sweep neither", path);
    }
    if (cell.system.controller.name == "clairvoyant_plan") {
      throw UserError(
          "{}: {}: its plans are searched in the simulation that is to be judged; leave "
          "it out",
          path, run::label(cell));
    }
  }
}

Json describe(const Source& source, const std::vector<run::Cell>& cells, const std::string& machine,
              const std::string& command) {
  Json manifest = run::manifest(cells, "hardware and sim", command);
  manifest["experiment"] = source.path;
  manifest["experiment_hash"] = hash_bytes(std::as_bytes(std::span(source.text)));
  manifest["assignments"] = source.assignments;
  manifest["machine"] = machine;
  manifest["identity"] = identity_of(manifest);
  return manifest;
}

Bundle open_bundle(const std::string& root, const Json& manifest, const Source& source,
                   const std::vector<run::Cell>& cells, bool replace) {
  const run::Cell& first = cells.front();
  const std::string base = root + "/" + first.platform.platform.name + "/" + first.model.shape.name;
  Bundle bundle{base, manifest, true};
  for (int number = 2; fs::exists(bundle.path("manifest.json")); ++number) {
    const Json there = read_json(bundle.path("manifest.json"));
    if (there.value("identity", "") == manifest["identity"]) return {bundle.folder, there, false};
    if (replace) {
      fs::remove_all(bundle.folder);
      break;
    }
    bundle.folder = fmt::format("{}-{}", base, number);
  }
  write_file(bundle.path("cells.csv"), cells_table(cells).to_text());
  write_file(bundle.path("configuration.yaml"), source.text);
  write_file(bundle.path("platform.yaml"), read_file(first.platform.path));
  write_file(bundle.path("manifest.json"), manifest.dump(2) + "\n");
  return bundle;
}

Bundle read_bundle(const std::string& folder, Source& source) {
  Bundle bundle{folder, {}, false};
  bundle.manifest = read_json(bundle.path("manifest.json"));
  if (!bundle.manifest.contains("identity")) {
    throw UserError("{}: no bundle of 'leanstream validate'", folder);
  }
  source.path = bundle.manifest["experiment"].get<std::string>();
  source.text = read_file(bundle.path("configuration.yaml"));
  source.assignments = bundle.manifest["assignments"].get<std::vector<std::string>>();
  return bundle;
}

report::CsvTable cells_table(const std::vector<run::Cell>& cells) {
  report::CsvTable table;
  table.header = {"cell",          "model",       "system",     "case",   "memory_budget_bytes",
                  "block_neurons", "block_bytes", "read_bytes", "tokens", "image"};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const run::Cell& cell = cells[i];
    table.rows.push_back(
        {std::to_string(i), cell.model.shape.name, cell.system.name, run::case_of(cell),
         std::to_string(cell.budget_bytes), std::to_string(cell.geometry.block_neurons),
         std::to_string(cell.geometry.block_bytes),
         fmt::format("{}", fmt::join(read_sizes(cell), " ")),
         std::to_string(cell.tokens - cell.prompt_tokens), cell.spec.experiment.hardware.image});
  }
  return table;
}

void add_to_index(const std::string& path, const IndexLine& line) {
  report::CsvTable table;
  table.header = {"date",       "platform",       "model",        "folder",      "cells",
                  "runs",       "repeated",       "median_error", "nine_of_ten", "worst_error",
                  "worst_cell", "simulated_with", "draft"};
  if (fs::exists(path)) table = report::CsvTable::read(path);
  const std::vector<std::string> row{line.date,
                                     line.platform,
                                     line.model,
                                     line.folder,
                                     std::to_string(line.cells),
                                     std::to_string(line.runs),
                                     std::to_string(line.repeated),
                                     line.median_error,
                                     line.nine_of_ten,
                                     line.worst_error,
                                     line.worst_cell,
                                     line.simulated_with,
                                     line.draft ? "yes" : ""};
  for (auto old = table.rows.rbegin(); old != table.rows.rend(); ++old) {
    if (old->at(3) != line.folder) continue;
    if (std::equal(old->begin() + 1, old->end(), row.begin() + 1, row.end())) return;
    break;
  }
  table.rows.push_back(row);
  table.write(path);
}

}  // namespace leanstream::validate
