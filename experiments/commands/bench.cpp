// leanstream bench core: what the core itself costs at the size of a 7B model.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "engine/backend/run_loop.h"
#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/config/document.h"
#include "engine/model/model_file.h"
#include "engine/scheduler/scheduler.h"
#include "experiments/commands/commands.h"
#include "experiments/run/cell.h"
#include "experiments/run/child.h"
#include "traces/synthesis.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr TokenId kPrompt = 8;
constexpr double kMsPerS = 1e3;

// Mistral-7B, density 0.25, budget 20 % of the MLPs, 8 segments of each kind: up to 8 refinements
// a layer.
constexpr const char* kExperiment = R"(
kind: experiment
name: bench-core
platform: jetson-agx-orin
model: mistral-7b
system: leanstream
system_changes: {controller: {policy: static, omega_io: 8, omega_gpu: 8}}
prompt_tokens: 8
density: 25%
block_neurons: 2
memory_budget: 20% of mlp
)";

struct BenchOptions {
  TokenId tokens = 64;
  int repeats = 5;
  std::string only;  // the name of one case
  bool json = false;
};

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// A trace that is there while this object is.
class TemporaryTrace {
 public:
  explicit TemporaryTrace(TokenId tokens)
      : path_((std::filesystem::temp_directory_path() /
               fmt::format("leanstream-bench-{}.safetensors", ::getpid()))
                  .string()) {
    traces::synthesize({.shape = model::load_model("mistral-7b").shape,
                        .tokens = tokens,
                        .command = command_line()},
                       traces::load_fit("smollm2-135m"), {})
        .writer.write(path_);
  }
  ~TemporaryTrace() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryTrace(const TemporaryTrace&) = delete;
  TemporaryTrace& operator=(const TemporaryTrace&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

run::Cell load(const std::string& trace, TokenId tokens, const std::string& predictor,
               const std::string& fidelity) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(kExperiment, "bench core", diagnostics);
  std::vector<std::string> assignments{"trace=" + trace, fmt::format("tokens={}", tokens),
                                       "fidelity=" + fidelity};
  if (!predictor.empty()) assignments.push_back("system_changes.predictor=" + predictor);
  auto cells = run::load_cells(document, assignments, diagnostics);
  diagnostics.throw_if_any();
  return std::move(cells.at(0));
}

struct Run {  // of the decoded tokens
  double wall_s = 0;
  double events = 0;
  double predictions = 0;
  double world_s = 0;      // in the world, without predictions; only when looked at closely
  double predictor_s = 0;  // making synthetic predictions
};

// What is spent in a predictor.
class TimedPredictor final : public policy::Predictor {
 public:
  explicit TimedPredictor(const policy::Predictor& inner) : inner_(inner) {}
  void predict(TokenId token, LayerId layer, std::int32_t feature,
               std::span<std::uint8_t> codes) const override {
    const auto from = Clock::now();
    inner_.predict(token, layer, feature, codes);
    spent_s += seconds_since(from);
  }
  mutable double spent_s = 0;

 private:
  const policy::Predictor& inner_;
};

// A world beside a watch that starts with the first decoded token.
class TimedWorld final : public backend::Backend {
 public:
  TimedWorld(Backend& inner, const scheduler::Scheduler& scheduler, const TimedPredictor& predictor,
             bool closely)
      : inner_(inner), metrics_(scheduler.metrics()), predictor_(predictor), closely_(closely) {}

  TimeNs now() override { return inner_.now(); }
  void submit(std::span<const scheduler::Command> commands) override {
    if (!decoding_ && metrics_.prefill_end_ns > metrics_.start_ns) {
      decoding_ = true;
      events_before_ = metrics_.events;
      predictor_before_s_ = predictor_.spent_s;
      world_s_ = 0;
      from_ = Clock::now();
    }
    timed([&] { inner_.submit(commands); });
  }
  std::span<const scheduler::Completion> wait(TimeNs deadline) override {
    std::span<const scheduler::Completion> batch;
    timed([&] { batch = inner_.wait(deadline); });
    return batch;
  }
  void ended() override {
    run_.wall_s = seconds_since(from_);
    run_.events = static_cast<double>(metrics_.events - events_before_);
    run_.predictions = static_cast<double>(metrics_.decode.predictions);
    run_.predictor_s = predictor_.spent_s - predictor_before_s_;
    run_.world_s = world_s_ - run_.predictor_s;
    inner_.ended();
  }
  const Run& result() const { return run_; }

 private:
  template <typename Work>
  void timed(Work&& work) {
    if (!closely_) return work();
    const auto entered = Clock::now();
    work();
    world_s_ += seconds_since(entered);
  }

  Backend& inner_;
  const scheduler::RunMetrics& metrics_;
  const TimedPredictor& predictor_;
  bool closely_;
  bool decoding_ = false;
  Clock::time_point from_;
  std::int64_t events_before_ = 0;
  double predictor_before_s_ = 0;
  double world_s_ = 0;
  Run run_;
};

Run run_here(const run::Cell& cell, const std::string& backend, bool closely) {
  const run::CellPolicies policies(cell, *cell.trace);
  const TimedPredictor predictor(policies.predictor());
  scheduler::Scheduler scheduler(cell.run_spec(), policies.view());
  auto spec = run::world_spec(cell, policies, "");
  if (closely) spec.predictor = &predictor;
  const auto world = backend::make_world(backend, spec);
  TimedWorld timed(*world, scheduler, predictor, closely);
  backend::run(scheduler, timed);
  if (!scheduler.failure().empty()) throw UserError("bench core: {}", scheduler.failure());
  return timed.result();
}

// One simulated run a process.
Run run_once(const run::Cell& cell, const std::string& backend, bool closely) {
  const auto child = run::in_child([&] {
    const Run r = run_here(cell, backend, closely);
    return fmt::format("{} {} {} {} {}", r.wall_s, r.events, r.predictions, r.world_s,
                       r.predictor_s);
  });
  if (!child.ended) {
    throw UserError("bench core: the run ended with status {}: {}", child.status, child.text);
  }
  Run r;
  std::istringstream(child.text) >> r.wall_s >> r.events >> r.predictions >> r.world_s >>
      r.predictor_s;
  return r;
}

struct Case {
  const char* name;
  const char* backend;
  const char* fidelity;
  const char* predictor;  // "" for the system's own
};

// The null device is given the true scores: they cost a copy, so what is left is the core.
constexpr std::array kCases{Case{"null", "null", "segment", "oracle"},
                            Case{"segment", "sim", "segment", ""},
                            Case{"request", "sim", "request", ""}};

Json measure(const Case& c, const run::Cell& cell, const BenchOptions& o) {
  std::vector<double> walls;
  Run run;
  for (int i = 0; i < o.repeats; ++i) {
    run = run_once(cell, c.backend, false);
    walls.push_back(run.wall_s);
  }
  const Run close = run_once(cell, c.backend, true);
  const double tokens = o.tokens;
  const double wall_s = median(walls);
  const auto [least, most] = std::minmax_element(walls.begin(), walls.end());
  const double predictor_ms = close.predictor_s / tokens * kMsPerS;
  const double world_ms = close.world_s / tokens * kMsPerS;
  return {{"case", c.name},
          {"ms_per_token", wall_s / tokens * kMsPerS},
          {"ms_per_token_least", *least / tokens * kMsPerS},
          {"ms_per_token_most", *most / tokens * kMsPerS},
          {"tokens_per_s", tokens / wall_s},
          {"events_per_token", run.events / tokens},
          {"ns_per_event", wall_s / run.events * kNsPerSecond},
          {"predictions_per_token", run.predictions / tokens},
          {"core_ms", close.wall_s / tokens * kMsPerS - predictor_ms - world_ms},
          {"world_ms", world_ms},
          {"predictor_ms", predictor_ms}};
}

void execute(const BenchOptions& o) {
  const TokenId tokens = kPrompt + o.tokens;
  const TemporaryTrace trace(tokens);
  Json rows = Json::array();
  for (const Case& c : kCases) {
    if (!o.only.empty() && o.only != c.name) continue;
    rows.push_back(measure(c, load(trace.path(), tokens, c.predictor, c.fidelity), o));
  }
  if (o.json) {
    fmt::print("{}\n", rows.dump(2));
    return;
  }
  fmt::print(
      "Mistral-7B, density 0.25, budget 20 % of the MLPs, plan (8, 8), {} tokens, median of {} "
      "runs\n"
      "         ms/token (least … most)  tokens/s  events/token  ns/event  predictions/token | "
      "core "
      "+ world + predictor, ms/token\n",
      o.tokens, o.repeats);
  for (const Json& r : rows) {
    const auto v = [&](const char* name) { return r[name].get<double>(); };
    fmt::print(
        "{:8} {:6.2f} ({:.2f} … {:.2f}) {:12.1f} {:13.0f} {:9.0f} {:18.0f} | {:.2f} + {:.2f} + "
        "{:.2f}\n",
        r["case"].get<std::string>(), v("ms_per_token"), v("ms_per_token_least"),
        v("ms_per_token_most"), v("tokens_per_s"), v("events_per_token"), v("ns_per_event"),
        v("predictions_per_token"), v("core_ms"), v("world_ms"), v("predictor_ms"));
  }
}

}  // namespace

void add_bench(CLI::App& app) {
  auto* bench = app.add_subcommand("bench", "micro-benchmarks of the program itself");
  bench->require_subcommand(1);
  auto o = std::make_shared<BenchOptions>();
  auto* core = bench->add_subcommand(
      "core",
      "wall time of a token at Mistral-7B's size: core alone, segment and request fidelity");
  core->add_option("--tokens", o->tokens, "decoded tokens")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  core->add_option("--repeats", o->repeats, "runs of each kind; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  core->add_option("--only", o->only, "one kind of run")
      ->check(CLI::IsMember({"null", "segment", "request"}));
  core->add_flag("--json", o->json, "JSON to stdout");
  core->callback([o] { execute(*o); });
  add_bench_caches(*bench);
  add_bench_storage(*bench);
}

}  // namespace leanstream::commands
