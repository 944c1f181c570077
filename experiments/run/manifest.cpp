#include "experiments/run/manifest.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "engine/base/hash.h"
#include "experiments/run/version.h"

namespace leanstream::run {
namespace {

using config::Json;

Json platform_json(const platform::LoadedPlatform& p) {
  Json provenance = Json::array();
  for (const auto& entry : p.provenance) {
    provenance.push_back({{"name", entry.name},
                          {"value", entry.value},
                          {"source", platform::word(entry.source)},
                          {"reference", entry.reference}});
  }
  return {{"name", p.platform.name}, {"hash", p.hash}, {"provenance", provenance}};
}

Json live_json(const Cell& cell) {
  const Experiment& e = cell.spec.experiment;
  return {{"source", e.prompt.empty() ? "text: " + e.text : "prompt: " + e.prompt},
          {"weights", e.hardware.weights},
          {"prompt_tokens", cell.prompt_tokens},
          {"tokens", cell.tokens}};
}

Json trace_json(const traces::Trace& trace) {
  const auto& info = trace.info();
  Json json{{"path", trace.path()},
            {"hash", hash_file(trace.path())},
            {"kind", std::string(traces::to_string(info.kind))},
            {"model", info.model.name},
            {"source", info.source},
            {"upstream_density", info.upstream_density},
            {"recall_density", info.recall_density},
            {"tokens", trace.tokens()},
            {"command", info.command}};
  if (!info.knobs.empty()) json["knobs"] = info.knobs;
  return json;
}

constexpr const char* kSynthetic =
    "Synthetic activations: no model computed them, so these figures show how the systems compare "
    "under the assumptions that the trace's knobs state, not what a model does.";

constexpr const char* kShadow =
    "A live run's test predictors and audits ask a resident shadow of the model, outside budget "
    "and "
    "time but on the same processors: its figures of quality count, those of speed do not.";

// Appends an object of a cell under its name unless it is there.
void add_once(Json& list, const std::string& name, const Json& value) {
  if (!list.contains(name)) list[name] = value;
}

void add_notes(Json& notes, const std::vector<std::string>& more) {
  for (const auto& note : more) {
    if (std::find(notes.begin(), notes.end(), Json(note)) == notes.end()) notes.push_back(note);
  }
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json manifest(const std::vector<Cell>& cells, const std::string& backend,
              const std::string& command) {
  const Cell& first = cells.front();
  const Experiment& experiment = first.spec.experiment;
  const Version& v = version();
  Json notes = Json::array();
  add_notes(notes, experiment.notes);
  Json systems = Json::object();
  Json platforms = Json::object();
  Json models = Json::object();
  Json traces = Json::object();
  Json placements = Json::array();  // learned elsewhere: from what, and the hash of the file
  Json sweep = Json::object();
  for (const Cell& cell : cells) {
    for (const auto& [name, value] : cell.spec.swept) {
      auto& values = sweep[name];
      if (std::find(values.begin(), values.end(), Json(value)) == values.end()) {
        values.push_back(value);
      }
    }
    add_once(systems, cell.system.name, system_table().write(cell.system));
    add_once(platforms, cell.platform.platform.name,
             platform::table().write(cell.platform.platform));
    add_once(models, cell.model.shape.name, model::table().write(cell.model.shape));
    const std::string learned = cell.placement->source();
    if (!learned.empty()) add_notes(placements, {learned});
    if (cell.live) add_notes(notes, {kShadow});
    if (cell.trace && !cell.live) {
      if (!traces.contains(cell.trace->path())) {
        traces[cell.trace->path()] = trace_json(*cell.trace);
      }
      if (cell.trace->info().kind == traces::TraceKind::kSynthetic) add_notes(notes, {kSynthetic});
    }
    add_notes(notes, cell.system.notes);
  }
  Json configuration{{"experiment", experiment_table().write(experiment)},
                     {"sweep", sweep},
                     {"systems", systems},
                     {"models", models},
                     {"platforms", platforms}};
  Json json{{"name", experiment.name},
            {"description", experiment.description},
            {"version", v.version},
            {"commit", v.commit},
            {"dirty", v.dirty},
            {"build", v.build},
            {"command", command},
            {"created", utc_now()},
            {"seed", experiment.seed},
            {"backend", backend},
            {"cells", cells.size()},
            {"configuration", configuration},
            {"platform", platform_json(first.platform)},
            {"traces", traces},
            {"placements", placements},
            {"model", first.model.shape.name},
            {"notes", notes}};
  if (first.live) {
    json["live"] = live_json(first);
  } else {
    json["trace"] = trace_json(*first.trace);
  }
  return json;
}

}  // namespace leanstream::run
