// leanstream check FILE…: all errors of all files at once.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/document.h"
#include "engine/model/model_file.h"
#include "engine/platform/platform_file.h"
#include "experiments/commands/commands.h"
#include "experiments/run/cell.h"
#include "experiments/run/system_file.h"
#include "traces/activation_fit.h"

namespace leanstream::commands {
namespace {

using config::Diagnostics;
using config::Document;

struct Checker {
  std::string kind;  // what the key `kind` of a file says
  std::function<void(const Document&, Diagnostics&)> check;
};

const std::vector<Checker>& checkers() {
  static const std::vector<Checker> all{
      {"platform",
       [](const Document& d, Diagnostics& errors) { platform::read_platform(d, {}, errors); }},
      {"model", [](const Document& d, Diagnostics& errors) { model::read_model(d, errors); }},
      {"system", [](const Document& d, Diagnostics& errors) { run::read_system(d, {}, errors); }},
      {"experiment",
       [](const Document& d, Diagnostics& errors) { run::load_cells(d, {}, errors); }},
      {"fit", [](const Document& d, Diagnostics& errors) { traces::read_fit(d, errors); }}};
  return all;
}

void check_document(const Document& document, Diagnostics& errors) {
  if (!document.root) return;
  std::vector<std::string> kinds;
  const config::Node kind = document.root["kind"];
  for (const auto& checker : checkers()) {
    if (kind.is_scalar() && kind.text() == checker.kind) return checker.check(document, errors);
    kinds.push_back(checker.kind);
  }
  errors.error(kind ? kind.position() : document.root.position(),
               "the file starts with 'kind: …', one of {}; not {}", config::join(kinds),
               kind ? kind.describe() : document.root.describe());
}

void check(const std::vector<std::string>& paths) {
  Diagnostics errors;
  for (const auto& path : paths) {
    const auto before = errors.count();
    check_document(config::load_document(path, errors), errors);
    if (errors.count() == before) std::printf("%s: ok\n", path.c_str());
  }
  errors.throw_if_any();
}

}  // namespace

void add_check(CLI::App& app) {
  auto* command = app.add_subcommand("check", "find all errors of YAML files; runs nothing");
  auto paths = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *paths, "platform, model, system, experiment or fit files")
      ->required();
  command->callback([paths] { check(*paths); });
}

}  // namespace leanstream::commands
