// leanstream calibrate of this machine.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/config/find_file.h"
#include "engine/hardware/storage/image_file.h"
#include "engine/hardware/storage/storage.h"
#include "engine/hardware/storage/temporary_image.h"
#include "experiments/commands/calibrate.h"
#include "experiments/run/progress.h"
#include "platforms/calibration/platform_yaml.h"
#include "platforms/probe/outcome.h"
#include "platforms/probe/probes.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;
using Options = MachineOptions;

constexpr double kQuietSpread = 0.3;  // some figures are of rare events and always vary

std::string out_of(const Options& o) {
  if (o.out.empty() && o.name.empty()) {
    throw UserError(
        "calibrate: name the platform of this machine with --name or --out; or what was measured "
        "of a flash, with --from-table or --from-fio");
  }
  const std::string out = o.out.empty() ? o.name + ".yaml" : o.out;
  if (!out.ends_with(".yaml")) {
    throw UserError("calibrate: --out {} must end in .yaml, so that it is found by its name", out);
  }
  const std::string name = config::name_of(out);
  if (!o.name.empty() && o.name != name) {
    throw UserError("calibrate: a platform is named after its file: --out {} is {}, not {}", out,
                    name, o.name);
  }
  return out;
}

// On the disk to be measured.
std::string place_of(const Options& o) {
  return o.files.empty() ? "." : o.files.front();
}

probe::Plan plan_of(const Options& o) {
  probe::Plan plan = o.tiny    ? probe::tiny_plan()
                     : o.quick ? probe::quick_plan()
                               : probe::full_plan();
  plan.files = o.files;
  if (!o.tiny) plan.size_mib = o.size_mib;
  const auto engines = hardware::storage_engines();
  if (o.engine != "auto" && std::find(engines.begin(), engines.end(), o.engine) == engines.end()) {
    throw UserError("calibrate: there is no engine '{}'; auto, or one of: {}", o.engine,
                    fmt::join(engines, ", "));
  }
  plan.engine = o.engine;
  plan.threads = o.threads;
  if (o.repetitions > 0) plan.repetitions = o.repetitions;
  plan.processors = hardware::processors_for(place_of(o), o.threads, /*apart=*/true);
  const Bytes most = *std::max_element(plan.read_bytes.begin(), plan.read_bytes.end());
  const std::string disk = probe::this_machine(place_of(o)).text();
  for (const std::string& file : o.files) {
    if (hardware::ImageFile(file).size_bytes() < most) {
      throw UserError("calibrate: {} is smaller than one read of {} KiB", file, most / 1024);
    }
    if (probe::this_machine(file).text() != disk) {
      throw UserError("calibrate: {} and {} are on different disks: calibrate each by itself",
                      o.files.front(), file);
    }
  }
  return plan;
}

// Measures what is not in the file yet.
void measure(const probe::Plan& plan, probe::SampleFile& samples) {
  std::unique_ptr<hardware::TemporaryImage> temporary;
  const auto path = [&](int repetition) -> std::string {
    const auto turn = static_cast<std::size_t>(repetition);
    if (!plan.files.empty()) return plan.files[turn % plan.files.size()];
    if (!temporary) {
      temporary = std::make_unique<hardware::TemporaryImage>(plan.size_mib);
      temporary->unname();
    }
    return temporary->path();
  };
  auto groups = probe::all_probes(plan, path);
  const std::size_t left = probe::missing(groups, plan.repetitions, samples);
  if (!samples.all().empty()) {
    fmt::print(stderr, "{}: {} samples are there, {} measurements are missing\n", samples.path(),
               samples.all().size(), left);
  }
  if (left == 0) return;
  const hardware::KeptTo scheduler(plan.processors.scheduler);
  run::Progress progress(left, "measurements");
  std::size_t done = 0;
  probe::measure(std::move(groups), plan.repetitions, samples, [&](const probe::Probe& last) {
    progress.show(++done, last.what + " " + last.parameters);
  });
}

Json outcome_json(const probe::Outcome& outcome) {
  Json figures = Json::object();
  for (const auto& figure : outcome.figures) figures[figure.name] = figure.value;
  Json commands = Json::array();
  for (const probe::CommandError& one : outcome.commands) {
    commands.push_back(
        {{"command", one.what}, {"measured_s", one.measured_s}, {"error", one.error}});
  }
  return {{"figures", figures},
          {"cells", json_of(outcome.reads)},
          {"mixed_reads", json_of(outcome.mixed_reads)},
          {"commands", commands}};
}

void print(const probe::Outcome& outcome) {
  print_errors(outcome.reads);
  fmt::print("\nmixed reads, as a check (KiB: their mean)\n");
  print_errors(outcome.mixed_reads);
  fmt::print("\n{:52} {:>10}  model less measured\n", "accelerator", "us");
  for (const probe::CommandError& one : outcome.commands) {
    fmt::print("{:52} {:10.1f}  {}\n", one.what, 1e6 * one.measured_s, percent_text(one.error));
  }
  fmt::print("\n");
  for (const auto& figure : outcome.figures) {
    fmt::print("{:34} {:14} {}\n", figure.name, figure.value, word(figure.source));
  }
}

}  // namespace

void calibrate_machine(const Options& o) {
  const std::string out = out_of(o);
  const probe::Plan plan = plan_of(o);
  const auto machine = probe::this_machine(place_of(o));
  const std::string stem = out.substr(0, out.size() - std::string(".yaml").size());
  probe::SampleFile samples(stem + ".samples.csv", machine.text() + "; " + plan.text(), o.fresh);
  measure(plan, samples);
  const auto outcome = probe::fit_platform(plan, machine, samples);
  write_file(out, calibration::file_text("measured: " + machine.text(), outcome.figures,
                                         outcome.platform.calibration));
  platform::load_platform(out);  // what it says must agree
  const double spread = samples.usual_spread();
  if (spread > kQuietSpread) {
    fmt::print(stderr,
               "a quarter of the figures differs by more than {:.0f} % from one repetition to "
               "another: if something else is running, stop it and measure again with --fresh\n",
               100 * spread);
  }
  if (o.json) {
    fmt::print("{}\n", outcome_json(outcome).dump(2));
    return;
  }
  print(outcome);
  fmt::print("\n{}, its samples in {}; three quarters of the figures repeat within {:.1f} %\n", out,
             samples.path(), 100 * spread);
}

std::vector<CLI::Option*> add_machine_options(CLI::App& command, Options& o) {
  std::vector<CLI::Option*> all;
  const auto add = [&](CLI::Option* option) { return all.push_back(option), option; };
  add(command.add_option("--name", o.name,
                         "of the platform; its file is NAME.yaml unless --out says"));
  auto* file =
      add(command.add_option("--file", o.files,
                             "files or block device to read from, by turns; by default a temporary "
                             "file in this folder, which must be on the disk to be measured. Disks "
                             "may read what was just written faster than what has lain: give the "
                             "images that runs will read"));
  add(command.add_option("--size", o.size_mib, "MiB of the temporary file"))
      ->check(CLI::Range(64, 1 << 20))
      ->excludes(file)
      ->capture_default_str();
  add(command.add_option("--engine", o.engine, "auto, io_uring, libaio or pread"))
      ->capture_default_str();
  add(command.add_option("--threads", o.threads, "of the accelerator cpu"))
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add(command.add_option("--repetitions", o.repetitions,
                         "of everything, in all: with more than an earlier call had, only what is "
                         "missing is measured, so that a machine that drifts is calibrated before "
                         "and after what is compared with it"))
      ->check(CLI::Range(1, 1000));
  add(command.add_flag("--quick", o.quick,
                       "within two minutes: fewer sizes, depths and repetitions"));
  command.add_flag("--tiny", o.tiny, "")->group("");  // of tests
  add(command.add_flag("--fresh", o.fresh, "measures anew what an earlier call has measured"));
  return all;
}

}  // namespace leanstream::commands
