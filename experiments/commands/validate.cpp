// leanstream validate: the simulation of a platform against its hardware.
#include "experiments/validate/validate.h"

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "experiments/commands/commands.h"

namespace leanstream::commands {
namespace {

struct ValidateOptions {
  validate::Options of;
  std::string summarise;
  bool json = false;
};

void execute(const ValidateOptions& o) {
  if (o.of.experiment.empty() == o.summarise.empty()) {
    throw UserError("validate needs either an experiment file or --summarise FOLDER");
  }
  const validate::Outcome outcome =
      o.summarise.empty() ? validate::validate(o.of) : validate::summarise_again(o.summarise, o.of);
  if (o.json) {
    fmt::print("{}\n", outcome.summary.dump(2));
  } else {
    fmt::print("{}\nbundle: {}\n", outcome.text, outcome.folder);
  }
  if (outcome.failed > 0) {
    throw CommandFailed(
        fmt::format("leanstream: {} cells lack a run that ended well in one of the "
                    "worlds: see 'failure' in measured.csv and simulated.csv",
                    outcome.failed));
  }
}

}  // namespace

void add_validate(CLI::App& app) {
  auto o = std::make_shared<ValidateOptions>();
  auto* command = app.add_subcommand(
      "validate", "the same cells simulated and on this machine, in turn, and how far they differ");
  command->add_option("EXPERIMENT", o->of.experiment, "experiment file (YAML) with a 'sweep'");
  command->add_option("ASSIGNMENTS", o->of.assignments,
                      "key=value: set a parameter by its dotted name");
  command
      ->add_option("--runs", o->of.runs,
                   "hardware runs of a cell, at least 5; with more than a bundle has it goes on")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--repeat-limit", o->of.repeat_limit,
                   "how often a run is repeated that failed, or whose probe drifted")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--out", o->of.out,
                      "root of the bundles (default: platforms/validation); with --summarise the "
                      "folder that gets the results");
  command->add_option("--summarise", o->summarise,
                      "simulate and judge a bundle again, with the platform and program of now");
  command->add_flag("--ablation", o->of.ablation,
                    "simulate also with each effect of the model switched off");
  command->add_flag("--replace", o->of.replace,
                    "overwrite another bundle of this platform and model (its line stays listed)");
  command->add_flag("--draft", o->of.draft,
                    "a trial: any number of runs, any platform; goes to out/validation");
  command->add_flag("--json", o->json, "the summary as JSON to stdout");
  command->callback([o] {
    o->of.command = command_line();
    // With --summarise there is no file, so the first word is an assignment.
    if (!o->summarise.empty() && o->of.experiment.find('=') != std::string::npos) {
      o->of.assignments.insert(o->of.assignments.begin(), o->of.experiment);
      o->of.experiment.clear();
    }
    execute(*o);
  });
}

}  // namespace leanstream::commands
