// leanstream synthesize: a trace of a model's shape that looks as asked for.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/config/document.h"
#include "engine/model/model_file.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "traces/magnitude_profile.h"
#include "traces/statistics.h"
#include "traces/synthesis.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;

struct SynthesizeOptions {
  traces::SynthesisRequest request;
  std::string model;
  std::string fit = "smollm2-135m";
  std::string magnitudes;
  std::string out;
  std::vector<std::string> assignments;
  bool json = false;
};

traces::SynthesisKnobs read_knobs(const std::vector<std::string>& assignments) {
  config::Diagnostics diagnostics;
  config::Node node = config::Node::map({std::make_shared<const std::string>("command line")});
  for (const auto& assignment : assignments) {
    node = config::with_assignment(node, assignment, diagnostics);
  }
  const auto knobs = traces::synthesis_table().read(node, diagnostics);
  diagnostics.throw_if_any();
  return knobs;
}

// What the process should show, and what the file holds.
Json figures(const traces::ProcessFigures& meant, const traces::Statistics& got) {
  const auto row = [](const char* name, double wanted, double measured) {
    return Json{{"figure", name}, {"asked", wanted}, {"measured", measured}};
  };
  return {row("persistence", meant.persistence, got.overlap),
          row("hot_share", meant.hot_share, got.hottest_share[1]),
          row("importance_share", meant.importance_share, got.importance_share)};
}

void execute(const SynthesizeOptions& o) {
  const auto knobs = read_knobs(o.assignments);
  check_writable(o.out);
  traces::SynthesisRequest request = o.request;
  request.shape = model::load_model(o.model).shape;
  request.command = command_line();
  auto fit = traces::load_fit(o.fit);
  if (!o.magnitudes.empty()) {
    if (knobs.importance_share) {
      throw UserError("importance_share would change the magnitudes of {}: give one of them",
                      o.magnitudes);
    }
    const auto measured = traces::read_magnitudes(o.magnitudes, request.shape.name);
    fit = traces::with_magnitudes(traces::with_layers(fit, request.shape.layers), measured);
    request.magnitudes = fmt::format("{} in {}", measured.model,
                                     std::filesystem::path(o.magnitudes).filename().string());
  }
  traces::synthesize(request, fit, knobs).writer.write(o.out);
  const double density = knobs.density.value_or(fit.density);
  const auto meant =
      traces::figures_of(traces::calibrate(fit, request.shape.layers, knobs), density);
  const traces::Trace trace(o.out);
  const Json rows = figures(meant, traces::set_statistics(trace, density));
  if (o.json) {
    fmt::print("{}\n", Json{{"file", o.out},
                            {"kind", "synthetic"},
                            {"fit", fit.name},
                            {"density", density},
                            {"figures", rows}}
                           .dump(2));
    return;
  }
  fmt::print("{}: synthetic trace of {}, {} tokens × {} layers × {} neurons, from fit {}\n", o.out,
             request.shape.name, trace.tokens(), trace.layers(), trace.ffn(), fit.name);
  fmt::print("at density {:<8}   asked   measured\n", density);
  for (const auto& row : rows) {
    fmt::print("  {:18}  {:.3f}   {:.3f}\n", row["figure"].get<std::string>(),
               row["asked"].get<double>(), row["measured"].get<double>());
  }
  fmt::print(
      "persistence and hot_share are those of a long trace; over few tokens both come out "
      "larger\n");
}

}  // namespace

void add_synthesize(CLI::App& app) {
  auto o = std::make_shared<SynthesizeOptions>();
  auto* command = app.add_subcommand("synthesize", "a synthetic activation trace of any shape");
  command->add_option("KNOBS", o->assignments, "key=value: what the trace is to look like");
  command->add_option("--model", o->model, "a model's shape, by name or path")->required();
  command->add_option("--fit", o->fit, "what recorded traces look like, by name or path")
      ->capture_default_str();
  command->add_option(
      "--magnitudes", o->magnitudes,
      "CSV of measured |h| quantiles with rows of this model, instead of the fit's");
  command->add_option("--tokens", o->request.tokens, "tokens of the trace")
      ->check(CLI::Range(TokenId{1}, TokenId{1} << 24))
      ->capture_default_str();
  command->add_option("--seed", o->request.seed, "of everything random")->capture_default_str();
  command->add_option("--out", o->out, "trace file")->required();
  command->add_flag("--features", o->request.features,
                    "also the factors, with noise, as features −2 … 8: 22 bytes a token, layer and "
                    "hidden dimension");
  command->add_option("--threads", o->request.threads, "0: as many as are sensible; same bytes")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", o->json, "JSON to stdout");
  command->footer([] {
    return "Knobs; what is absent is as in the fit:\n" +
           table_text(config::parameter_rows(traces::synthesis_table().describe()));
  });
  command->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
