// One synthetic prediction of one layer of Mistral-7B, by instruction set and in whole.
#include <benchmark/benchmark.h>

#include "engine/base/hash.h"
#include "engine/policy/predict/score_kernel.h"
#include "engine/policy/predict/score_model.h"
#include "tests/bench/mistral.h"

namespace leanstream::bench {
namespace {

void per_neuron(benchmark::State& state, std::size_t neurons) {
  state.counters["neurons_per_s"] = benchmark::Counter(
      static_cast<double>(neurons), benchmark::Counter::kIsIterationInvariantRate);
}

void prediction(benchmark::State& state) {
  const Activations activations(6);
  const auto weights = policy::score_weights(0.87, 0.9);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(activations.ffn()));
  std::uint64_t key = 0;
  for (auto _ : state) {
    policy::predict_codes(activations.importance(0, 0), weights, {mix(++key)}, codes);
    benchmark::DoNotOptimize(codes.data());
  }
  per_neuron(state, codes.size());
}
BENCHMARK(prediction);

void prediction_with_lasting_errors(benchmark::State& state) {
  const Activations activations(6);
  const auto weights = policy::score_weights(0.87, 0.9);
  const policy::ErrorPeriods periods(0.8, activations.ffn(), RandomStream(1, "bench"));
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(activations.ffn()));
  TokenId token = 0;
  for (auto _ : state) {
    policy::predict_codes(activations.importance(0, 0), weights, {5, ++token, &periods}, codes);
    benchmark::DoNotOptimize(codes.data());
  }
  per_neuron(state, codes.size());
}
BENCHMARK(prediction_with_lasting_errors);

// Argument: index into score_versions(), the base first.
void prediction_kernel(benchmark::State& state) {
  const auto versions = policy::score_versions();
  const auto index = static_cast<std::size_t>(state.range(0));
  if (index >= versions.size()) return state.SkipWithError("not on this machine");
  const Activations activations(6);
  const policy::ScoreKernel kernel{.final_error = 400, .stage_error = 200, .key = 7};
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(activations.ffn()));
  state.SetLabel(versions[index].name);
  for (auto _ : state) {
    versions[index].fresh(kernel, activations.importance(0, 0).data(), codes.data(), codes.size());
    benchmark::DoNotOptimize(codes.data());
  }
  per_neuron(state, codes.size());
}
BENCHMARK(prediction_kernel)->Arg(0)->Arg(1)->Arg(2);

}  // namespace
}  // namespace leanstream::bench
