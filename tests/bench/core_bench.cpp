// The scheduler alone: a run whose commands complete at once. Time is of a whole run of ten decoded
// tokens with a plan of 8 I/O and 8 accelerator segments; `events` are completions.
#include <benchmark/benchmark.h>

#include "engine/backend/run_loop.h"
#include "engine/backend/world.h"
#include "engine/scheduler/scheduler.h"
#include "tests/bench/mistral.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::bench {
namespace {

using scheduler::make_policy;

constexpr TokenId kPrompt = 2;
constexpr TokenId kDecoded = 10;

void core_run(benchmark::State& state, const char* cache) {
  const Activations activations(kPrompt + kDecoded);
  const auto run = spec(kPrompt + kDecoded, kPrompt);
  const auto predictor = make_policy<policy::Predictor>("oracle", {&activations, 1});
  const auto controller = make_policy<policy::Controller>(
      "{policy: static, omega_io: 8, omega_gpu: 8}", {kLayers, kBlocks, 2});
  const auto loader = make_policy<policy::Loader>("prioritised", {run.geometry.block_bytes});
  backend::WorldSpec world;
  world.shape.ffn = kFfn;
  world.geometry = run.geometry;
  world.predictor = predictor.get();
  std::int64_t events = 0;
  for (auto _ : state) {
    const auto policy =
        make_policy<policy::CachePolicy>(cache, {kLayers, kBlocks, kSlots, kPrompt});
    scheduler::Scheduler scheduler(
        run, {predictor.get(), policy.get(), controller.get(), loader.get(), &activations});
    backend::run(scheduler, *backend::make_world("null", world));
    events += scheduler.metrics().events;
  }
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(core_run, lfu, "lfu")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(core_run, lru, "lru")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leanstream::bench
