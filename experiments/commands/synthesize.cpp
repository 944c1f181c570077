// leanstream synthesize: a trace of a model's shape that looks as asked for.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/config/document.h"
#include "engine/model/model_file.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "traces/statistics.h"
#include "traces/synthesis.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::string out;
  TokenId tokens = 256;
  std::uint64_t seed = 1;
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

Json figures(const traces::SynthesisKnobs& asked, const traces::Statistics& got) {
  const auto row = [](const char* name, double wanted, double measured) {
    return Json{{"figure", name}, {"asked", wanted}, {"measured", measured}};
  };
  return {row("persistence", asked.persistence, got.overlap),
          row("hot_share", asked.hot_share, got.hottest_share[1]),
          row("importance_share", asked.importance_share, got.importance_share)};
}

void execute(const Options& o) {
  const auto knobs = read_knobs(o.assignments);
  const auto shape = model::load_model(o.model).shape;
  traces::synthesize(shape, o.tokens, o.seed, knobs, command_line()).write(o.out);
  // What the file holds, not what was meant.
  const traces::Trace trace(o.out);
  const Json rows = figures(knobs, traces::set_statistics(trace, traces::kKnobDensity));
  if (o.json) {
    fmt::print("{}\n", Json{{"file", o.out}, {"kind", "synthetic"}, {"figures", rows}}.dump(2));
    return;
  }
  fmt::print("{}: synthetic trace of {}, {} tokens × {} layers × {} neurons\n", o.out, shape.name,
             trace.tokens(), trace.layers(), trace.ffn());
  fmt::print("at density {}        asked   measured\n", traces::kKnobDensity);
  for (const auto& row : rows) {
    fmt::print("  {:18}  {:.3f}   {:.3f}\n", row["figure"].get<std::string>(),
               row["asked"].get<double>(), row["measured"].get<double>());
  }
  fmt::print("hot_share is that of a long trace; counted over few tokens it comes out larger\n");
}

}  // namespace

void add_synthesize(CLI::App& app) {
  auto o = std::make_shared<Options>();
  auto* command = app.add_subcommand("synthesize", "a synthetic activation trace of any shape");
  command->add_option("KNOBS", o->assignments, "key=value: what the trace is to look like");
  command->add_option("--model", o->model, "a model's shape, by name or path")->required();
  command->add_option("--tokens", o->tokens, "tokens of the trace")
      ->check(CLI::Range(TokenId{1}, TokenId{1} << 24))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "of everything random")->capture_default_str();
  command->add_option("--out", o->out, "trace file")->required();
  command->add_flag("--json", o->json, "JSON to stdout");
  command->footer([] {
    return "Knobs; the tokens' sets are cut at density 0.2:\n" +
           table_text(config::parameter_rows(traces::synthesis_table().describe()));
  });
  command->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
