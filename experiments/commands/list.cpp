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

namespace leanstream::commands {
namespace {

using config::FileKind;
using config::Json;

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
  return {{"name", loaded.platform.name},
          {"description", loaded.platform.description},
          {"file", loaded.path},
          {"parameters", rows}};
}

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all{
      {"models", "shapes of models", all_models, one_model},
      {"platforms", "devices and the source of each figure", all_platforms, one_platform}};
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
  command->add_option("KIND", options->kind, "models or platforms; without one, the kinds");
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
