// Simulated events: a read of 64 requests beside an accelerator that draws on the same bus. Only
// one simulation fits in a process, so ratios.py runs the two fidelities one by one.
#include <memory>

#include <benchmark/benchmark.h>

#include "engine/platform/platform_file.h"
#include "sim/world.h"
#include "tests/bench/mistral.h"

namespace leanstream::bench {
namespace {

using scheduler::Command;
using scheduler::CommandKind;

constexpr std::int32_t kRequests = 64;

// Made once: a benchmark is called several times.
struct OnlyWorld {
  explicit OnlyWorld(backend::Fidelity f)
      : fidelity(f), platform(platform::load_platform("jetson-agx-orin")) {
    spec.platform = &platform.platform;
    spec.shape.layers = kLayers;
    spec.shape.hidden = 4096;
    spec.shape.ffn = kFfn;
    spec.shape.heads = spec.shape.kv_heads = 32;
    spec.shape.vocab = 32000;
    spec.geometry = bench::spec(2, 0).geometry;
    spec.fidelity = f;
    world = std::make_unique<sim::World>(spec);
  }

  backend::Fidelity fidelity;
  platform::LoadedPlatform platform;
  backend::WorldSpec spec;
  std::unique_ptr<sim::World> world;
  TicketId ticket = 0;
};

void read_beside_attention(benchmark::State& state, backend::Fidelity fidelity) {
  static OnlyWorld only(fidelity);
  if (only.fidelity != fidelity) return state.SkipWithError("one simulation a process");
  std::vector<BlockId> blocks;
  for (BlockId b = 0; b < kRequests; ++b) blocks.push_back(2 * b);  // no two are neighbours
  std::vector<SlotId> slots(blocks.begin(), blocks.end());
  for (auto _ : state) {
    const std::array<Command, 2> commands{
        Command{.ticket = ++only.ticket,
                .kind = CommandKind::read,
                .layer = 0,
                .blocks = blocks,
                .slots = slots},
        Command{.ticket = ++only.ticket, .kind = CommandKind::attention, .layer = 0, .token = 100}};
    only.world->submit(commands);
    for (std::size_t done = 0; done < commands.size();) done += only.world->wait(kNever).size();
  }
  state.counters["requests"] =
      benchmark::Counter(kRequests, benchmark::Counter::kIsIterationInvariantRate);
}

void sim_reads_segment(benchmark::State& state) {
  read_beside_attention(state, backend::Fidelity::segment);
}
BENCHMARK(sim_reads_segment);

void sim_reads_request(benchmark::State& state) {
  read_beside_attention(state, backend::Fidelity::request);
}
BENCHMARK(sim_reads_request);

}  // namespace
}  // namespace leanstream::bench
