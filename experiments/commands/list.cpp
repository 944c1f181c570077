// leanstream list [KIND] [NAME]: what there is, and each parameter's unit, value and source.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "engine/config/find_file.h"
#include "engine/model/model_file.h"
#include "engine/platform/platform_file.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "experiments/run/results.h"

namespace leanstream::commands {
namespace {

using config::FileKind;
using config::Json;
using run::SystemSpec;

struct Listing {
  std::string kind;
  std::string help;
  Json (*all)();                         // rows
  Json (*one)(const std::string& name);  // an object; throws UserError for an unknown name
};

Json all_models() {
  Json rows = Json::array();
  for (const auto& name : config::file_names(FileKind::model)) {
    const auto model = model::load_model(name);
    const auto& s = model.shape;
    rows.push_back({{"name", name},
                    {"layers", s.layers},
                    {"hidden", s.hidden},
                    {"ffn", s.ffn},
                    {"mlp", fmt::format("{:.3g} GB", s.mlp_bytes() / 1e9)},
                    {"model", fmt::format("{:.3g} GB", s.model_bytes() / 1e9)},
                    {"description", model.description}});
  }
  return rows;
}

Json one_model(const std::string& name) {
  const auto model = model::load_model(name);
  const Json values = model::table().write(model.shape);
  Json rows = Json::array();
  for (const auto& p : model::table().describe()) {
    rows.push_back({{"parameter", p.name}, {"value", values[p.name]}, {"help", p.help}});
  }
  return {{"name", model.shape.name},
          {"description", model.description},
          {"reference", model.reference},
          {"file", model.path},
          {"parameters", rows}};
}

Json all_platforms() {
  Json rows = Json::array();
  for (const auto& name : config::file_names(FileKind::platform)) {
    const auto loaded = platform::load_platform(name);
    rows.push_back(
        {{"name", name},
         {"assumed", fmt::format("{} of {}", loaded.assumed().size(), loaded.provenance.size())},
         {"description", loaded.platform.description}});
  }
  return rows;
}

Json one_platform(const std::string& name) {
  const auto loaded = platform::load_platform(name);
  Json rows = Json::array();
  for (const auto& p : loaded.provenance) {
    rows.push_back({{"parameter", p.name},
                    {"value", p.value},
                    {"source", platform::word(p.source)},
                    {"reference", p.reference}});
  }
  Json listed{{"name", loaded.platform.name},
              {"description", loaded.platform.description},
              {"file", loaded.path}};
  if (loaded.platform.calibration) {
    const Json calibrated = platform::table().write(loaded.platform).at(platform::kCalibration);
    for (const auto& [key, value] : calibrated.items()) {
      listed["calibration, " + key] = config::plain_text(value);
    }
  }
  listed["parameters"] = rows;
  return listed;
}

SystemSpec parsed_system(const std::string& name, config::Diagnostics& diagnostics) {
  const auto path = config::find_file(FileKind::system, name);
  return run::read_system(config::load_document(path, diagnostics), {}, diagnostics);
}

Json all_systems() {
  Json rows = Json::array();
  config::Diagnostics diagnostics;
  for (const auto& name : config::file_names(FileKind::system)) {
    rows.push_back({{"name", name}, {"description", parsed_system(name, diagnostics).description}});
  }
  diagnostics.throw_if_any();
  return rows;
}

Json one_system(const std::string& name) {
  config::Diagnostics diagnostics;
  const auto system = parsed_system(name, diagnostics);
  diagnostics.throw_if_any();
  const Json values = run::system_table().write(system);
  Json rows = Json::array();
  for (const auto& p : run::system_table().describe()) {
    if (p.name == "description" || p.name == "notes") continue;
    const Json& v = values[p.name];
    rows.push_back(
        {{"parameter", p.name}, {"value", v.is_object() ? Json(v.dump()) : v}, {"help", p.help}});
  }
  return {{"name", system.name}, {"description", system.description}, {"parameters", rows}};
}

// Calls visit(kind, name, entry) for every registered policy.
template <typename Visit>
void for_each_policy(Visit visit) {
  const auto each = [&]<typename Kind>(const policy::Registry<Kind>& registry) {
    for (const auto& [name, entry] : registry.entries()) {
      visit(std::string(Kind::kKind), name, entry.help, entry.parameters);
    }
  };
  each(policy::Registry<policy::Predictor>::instance());
  each(policy::Registry<policy::CachePolicy>::instance());
  each(policy::Registry<policy::Controller>::instance());
  each(policy::Registry<policy::Loader>::instance());
  each(policy::Registry<policy::Placement>::instance());
}

Json all_policies() {
  Json rows = Json::array();
  for_each_policy(
      [&](const std::string& kind, const std::string& name, const std::string& help, const auto&) {
        rows.push_back({{"kind", kind}, {"name", name}, {"does", help}});
      });
  return rows;
}

Json one_policy(const std::string& wanted) {
  Json found;
  std::vector<std::string> names;
  for_each_policy([&](const std::string& kind, const std::string& name, const std::string& help,
                      const auto& parameters) {
    names.push_back(name);
    if (name == wanted) {
      found = {{"name", name},
               {"kind", kind},
               {"does", help},
               {"parameters", config::parameter_rows(parameters)}};
    }
  });
  if (!found.is_null()) return found;
  throw UserError("there is no policy {}; valid: {}{}", config::quote(wanted), config::join(names),
                  suggestion(wanted, names));
}

Json all_metrics() {
  Json rows = Json::array();
  for (const auto& m : run::metrics()) rows.push_back({{"name", m.name}, {"is", m.help}});
  return rows;
}

Json one_metric(const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& m : run::metrics()) {
    if (m.name == wanted) return {{"name", m.name}, {"is", m.help}};
    names.push_back(m.name);
  }
  throw UserError("there is no metric {}{}", config::quote(wanted), suggestion(wanted, names));
}

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all{
      {"models", "shapes of models", all_models, one_model},
      {"platforms", "devices and the source of each figure", all_platforms, one_platform},
      {"systems", "what is compared", all_systems, one_system},
      {"policies", "what systems are made of", all_policies, one_policy},
      {"metrics", "columns of results.csv", all_metrics, one_metric}};
  return all;
}

Json kinds() {
  Json rows = Json::array();
  for (const auto& l : listings()) rows.push_back({{"kind", l.kind}, {"lists", l.help}});
  return rows;
}

Json answer(const std::string& kind, const std::string& name) {
  if (kind.empty()) return kinds();
  std::vector<std::string> words;
  for (const auto& listing : listings()) {
    if (listing.kind == kind) return name.empty() ? listing.all() : listing.one(name);
    words.push_back(listing.kind);
  }
  throw UserError("there is no list of {}; valid: {}{}", config::quote(kind), config::join(words),
                  suggestion(kind, words));
}

}  // namespace

void add_list(CLI::App& app) {
  struct Options {
    std::string kind, name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("list", "what there is, and each parameter of it");
  command->add_option("KIND", options->kind,
                      "models, platforms, systems, policies, metrics; without one, the kinds");
  command->add_option("NAME", options->name, "one of them, or a path");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options] {
    const Json json = answer(options->kind, options->name);
    const std::string text = options->json     ? json.dump(2) + "\n"
                             : json.is_array() ? table_text(json)
                                               : object_text(json);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace leanstream::commands
