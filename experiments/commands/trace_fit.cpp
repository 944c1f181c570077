// leanstream trace fit: what a generator of synthetic traces needs to know of recorded ones.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "experiments/commands/commands.h"
#include "traces/fit_trace.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

struct FitOptions {
  std::vector<std::string> files;
  std::string out;
  double density = 0.2;
  bool synthetic = false;
};

void execute(const FitOptions& o) {
  std::vector<std::unique_ptr<traces::Trace>> traces;
  std::vector<const traces::Trace*> views;
  for (const auto& file : o.files) {
    views.push_back(traces.emplace_back(std::make_unique<traces::Trace>(file)).get());
  }
  const auto fit = traces::fit_traces(views, o.density, o.synthetic);
  write_file(o.out, traces::fit_text(fit, command_line()));
  fmt::print("{}: fit of {} to {} tokens, {} layers, at density {}\n", o.out, fit.model, fit.tokens,
             fit.layers.size(), fit.density);
  fmt::print("share of what moves a neuron, by layer\n");
  fmt::print("layer   token   lasting by tokens");
  for (const double tokens : fit.lasting_tokens) fmt::print("  {:5}", tokens);
  fmt::print("   new    factors  position\n");
  for (std::size_t l = 0; l < fit.layers.size(); ++l) {
    const auto& layer = fit.layers[l];
    fmt::print("{:5}   {:.3f}                    ", l, layer.token);
    for (const double share : layer.lasting) fmt::print("  {:.3f}", share);
    fmt::print("   {:.3f}  {:6.0f}    {:.2f}\n", layer.fresh(), layer.factors, layer.position);
  }
}

}  // namespace

void add_trace_fit(CLI::App& trace) {
  const auto o = std::make_shared<FitOptions>();
  auto* command = trace.add_subcommand("fit", "a fit for synthesize, from recorded traces");
  command->add_option("files", o->files, "traces of one model")->required();
  command->add_option("--out", o->out, "fit file (YAML)")->required();
  command->add_option("--density", o->density, "share of neurons that count as active")
      ->capture_default_str();
  command->add_flag("--synthetic", o->synthetic, "also from synthetic traces, as a check");
  command->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
