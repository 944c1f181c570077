#include "experiments/run/logs.h"

#include <algorithm>

#include "engine/backend/world.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "experiments/run/results.h"
#include "experiments/run/version.h"

namespace leanstream::run {
namespace {

using config::Json;

// What names things, or is there in its resolved form.
constexpr const char* kNotCompared[] = {
    "name",    "description",   "notes",          "platform",    "platform_changes",
    "model",   "system",        "system_changes", "trace",       "tokens",
    "density", "memory_budget", "text",           "forced_sets", "hardware"};

// What only live runs have. Logs of traces know nothing of it, the older ones among them.
constexpr const char* kOfLiveRuns[] = {"activations", "prompt", "chat", "sampling", "audit_every"};

Json experiment_json(const Experiment& experiment) {
  Json json = experiment_table().write(experiment);
  for (const char* name : kNotCompared) json.erase(name);
  if (experiment.activations == ActivationSource::trace) {
    for (const char* name : kOfLiveRuns) json.erase(name);
  }
  // Older logs know nothing of it.
  if (json["thermal"] == experiment_table().write({})["thermal"]) json.erase("thermal");
  return json;
}

// What is not stated is not there, as in logs older than the parameter.
void drop_nulls(Json& json) {
  for (auto at = json.begin(); at != json.end();) {
    if (at->is_object()) drop_nulls(*at);
    at = at->is_null() ? json.erase(at) : std::next(at);
  }
}

Json run_json(const Cell& cell) {
  const auto spec = cell.run_spec();
  Json system = system_table().write(cell.system);
  Json platform = platform::table().write(cell.platform.platform);
  for (auto* json : {&system, &platform}) {
    for (const char* name : {"description", "notes"}) json->erase(name);
  }
  drop_nulls(platform);
  Json run{{"experiment", experiment_json(cell.spec.experiment)},
           {"system", system},
           {"model", model::table().write(cell.model.shape)},
           {"platform", platform}};
  if (cell.trace) run["trace"] = {{"hash", hash_file(cell.trace->path())}};
  run.update({{"slots", spec.slots},
              {"tokens", spec.tokens},
              {"density", spec.density},
              {"memory_budget_bytes", cell.budget_bytes},
              {"blocks_per_layer", spec.geometry.blocks_per_layer},
              {"block_bytes", spec.geometry.block_bytes}});
  return run;
}

// By metric, and "failure". Texts as in results.csv.
Json results_json(const Cell& cell, const CellResult& result) {
  const auto row = result_row(cell, result, "");
  Json json = Json::object();
  std::size_t column = row.size() - metrics().size() - 1;
  for (const auto& metric : metrics()) json[metric.name] = row[column++];
  json["failure"] = row[column];
  return json;
}

// "/experiment/density" as users write it; a plain name stays.
std::string dotted(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string value_text(const Json& json, const std::string& key) {
  if (!json.contains(key)) return "missing";
  const Json& value = json[key];
  return value.is_string() && !value.get_ref<const std::string&>().empty()
             ? value.get<std::string>()
             : value.dump();
}

// A line for each key whose values differ.
std::string differences(const Json& log, const Json& now) {
  std::vector<std::string> keys;
  for (const auto* side : {&log, &now}) {
    for (const auto& [key, value] : side->items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  std::string text;
  for (const auto& key : keys) {
    const std::string a = value_text(log, key), b = value_text(now, key);
    if (a != b) text += fmt::format("\n  {} is {} in the log, {} now", dotted(key), a, b);
  }
  return text;
}

std::string writer(const Json& tool) {
  return fmt::format("leanstream {} ({}{})", tool.value("version", "?"), tool.value("commit", "?"),
                     tool.value("dirty", false) ? ", changed" : "");
}

Json tool_json() {
  const Version& v = version();
  return {{"version", v.version}, {"commit", v.commit}, {"dirty", v.dirty}};
}

// The header of a log that this program wrote.
Json parse_header(const std::string& path, const std::string& header) {
  const Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("run") || !json.contains("tool") ||
      !json["run"].is_object() || !json["tool"].is_object()) {
    throw UserError("{}: its header is not that of a run of leanstream", path);
  }
  return json;
}

}  // namespace

Json log_header(const Cell& cell, const model::Activations& activations,
                const std::string& backend) {
  Json header{{"tool", tool_json()},
              {"name", cell.spec.experiment.name},
              {"system", cell.system.name},
              {"model", cell.model.shape.name},
              {"platform", cell.platform.platform.name},
              {"backend", backend},
              {"follows_platform", backend::follows_platform(backend)},
              {"run", run_json(cell)}};
  if (cell.trace) header["trace"] = cell.trace->path();
  if (cell.live) header["live"] = live_json(*cell.live, activations);
  return header;
}

bool log_follows_platform(const std::string& path) {
  return parse_header(path, backend::LogReader(path).header()).value("follows_platform", false);
}

void check_log(const std::string& path, const Cell& cell) {
  const Json header = parse_header(path, backend::read_through(path).header);
  // Written and read back, so that numbers have one form on both sides.
  const Json now = Json::parse(run_json(cell).dump());
  const std::string text = differences(header["run"].flatten(), now.flatten());
  if (!text.empty()) {
    throw UserError("{}: the log of another run ({} of {}, written by {}):{}", path,
                    header.value("system", "?"), header.value("name", "?"), writer(header["tool"]),
                    text);
  }
}

backend::LogEnd log_end(const Cell& cell, const CellResult& result,
                        const std::string& completions_hash) {
  return {result.commands_hash, completions_hash, results_json(cell, result).dump()};
}

std::string results_difference(const std::string& path, const Cell& cell,
                               const CellResult& result) {
  const auto end = backend::read_through(path).end;
  if (!end) return "";  // a replay does not end well without it
  const Json log = Json::parse(end->results, nullptr, /*allow_exceptions=*/false);
  if (!log.is_object()) return fmt::format("{}: its end mark holds no results", path);
  const std::string text = differences(log, results_json(cell, result));
  if (text.empty()) return "";
  return fmt::format("the same commands and completions as {}, but other results{}:{}", path,
                     other_writer(path), text);
}

std::string other_writer(const std::string& path) {
  const Json header = parse_header(path, backend::LogReader(path).header());
  if (header["tool"] == tool_json()) return "";
  return fmt::format(" (the log was written by {}, this is {})", writer(header["tool"]),
                     writer(tool_json()));
}

}  // namespace leanstream::run
