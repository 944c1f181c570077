// Choosing the wanted blocks of one layer from its neurons' codes, beside the plain way.
#include <algorithm>
#include <functional>

#include <benchmark/benchmark.h>

#include "engine/base/hash.h"
#include "engine/scheduler/selection.h"
#include "tests/bench/mistral.h"

namespace leanstream::bench {
namespace {

void selection_naive(benchmark::State& state) {
  const Activations activations(6);
  const auto levels = activations.levels(0);
  std::vector<std::uint64_t> keys(kBlocks);
  TokenId t = 0;
  for (auto _ : state) {
    ++t;
    const auto codes = activations.importance(t % 6, t % kLayers);
    for (std::size_t b = 0; b < keys.size(); ++b) {
      const auto sum = static_cast<double>(levels[codes[2 * b]] + levels[codes[2 * b + 1]]);
      keys[b] = static_cast<std::uint64_t>(sum * 0x1p35) << 22 |
                mix(static_cast<std::uint64_t>(t), b) >> 42;
    }
    auto sorted = keys;
    std::nth_element(sorted.begin(), sorted.begin() + kWanted - 1, sorted.end(), std::greater<>());
    BlockSet wanted(kBlocks);
    for (BlockId b = 0; b < kBlocks; ++b) {
      if (keys[static_cast<std::size_t>(b)] >= sorted[kWanted - 1]) wanted.set(b);
    }
    benchmark::DoNotOptimize(wanted);
  }
}
BENCHMARK(selection_naive);

void selection(benchmark::State& state) {
  const Activations activations(6);
  scheduler::Selection select(spec(6, 0), activations);
  scheduler::BlockScores scores(kBlocks);
  TokenId t = 0;
  for (auto _ : state) {
    ++t;
    select.choose(t, t % kLayers, activations.importance(t % 6, t % kLayers), nullptr, scores);
    benchmark::DoNotOptimize(scores);
  }
}
BENCHMARK(selection);

void selection_sums_only(benchmark::State& state) {
  const Activations activations(6);
  const scheduler::Selection select(spec(6, 0), activations);
  std::vector<std::uint32_t> sums(kBlocks);
  TokenId t = 0;
  for (auto _ : state) {
    ++t;
    select.sum(t % kLayers, activations.importance(t % 6, t % kLayers), sums);
    benchmark::DoNotOptimize(sums);
  }
}
BENCHMARK(selection_sums_only);

}  // namespace
}  // namespace leanstream::bench
