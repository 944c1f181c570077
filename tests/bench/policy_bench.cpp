// What a cache policy costs at Mistral's size: one layer computed (`used`), and one I/O part's
// victims, in the pattern of a run: layer by layer, part by part.
#include <list>
#include <unordered_map>
#include <utility>

#include <benchmark/benchmark.h>

#include "engine/policy/cache/cache_policy.h"
#include "tests/bench/mistral.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::bench {
namespace {

using policy::BlockRef;
using policy::CachePolicy;

constexpr int kSets = 5;
constexpr int kParts = 8;

std::vector<BlockSet> random_sets() {
  RandomStream random(9, "bench.sets");
  std::vector<BlockSet> sets;
  for (int i = 0; i < kSets * kLayers; ++i) sets.push_back(random_set(random, kWanted));
  return sets;
}

// One layer of one token: what is missing is read in kParts parts, each of which needs room.
void cache_layer(benchmark::State& state, const char* name) {
  const auto sets = random_sets();
  const auto cache =
      scheduler::make_policy<CachePolicy>(name, {kLayers, kBlocks, kSlots, 0, nullptr});
  std::vector<BlockSet> resident(kLayers, BlockSet(kBlocks));
  auto evictable = resident;
  std::vector<std::uint64_t> versions(kLayers, 1);
  std::vector<BlockRef> victims;
  std::vector<BlockId> arrived;
  BlockSet part_set(kBlocks);
  SlotId free = kSlots;
  StepId step = 0;
  std::int64_t accesses = 0;
  for (auto _ : state) {
    const auto l = static_cast<std::size_t>(step % kLayers);
    const BlockSet& wanted = sets[static_cast<std::size_t>(step / kLayers) % kSets * kLayers + l];
    arrived.clear();
    wanted.for_each([&](BlockId b) {
      if (!resident[l].test(b)) arrived.push_back(b);
    });
    const auto part = (arrived.size() + kParts - 1) / kParts;
    for (std::size_t at = 0; at < arrived.size(); at += part) {
      const auto blocks = std::span(arrived).subspan(at, std::min(part, arrived.size() - at));
      const auto lacking = static_cast<SlotId>(blocks.size()) - free;
      if (lacking > 0) {
        victims.clear();
        evictable[l] = resident[l];
        evictable[l] -= wanted;
        const auto version = std::exchange(versions[l], 0);
        cache->victims({evictable, static_cast<LayerId>(l), resident, versions}, lacking, victims);
        versions[l] = version;
        for (const auto& [layer, block] : victims) {
          const auto i = static_cast<std::size_t>(layer);
          resident[i].reset(block);
          evictable[i].reset(block);
        }
        free += static_cast<SlotId>(victims.size());
      }
      for (const BlockId b : blocks) resident[l].set(b);
      ++versions[l];
      free -= static_cast<SlotId>(blocks.size());
      for (const BlockId b : blocks) part_set.set(b);
      cache->inserted(static_cast<LayerId>(l), part_set, step);
      for (const BlockId b : blocks) part_set.reset(b);
    }
    evictable[l] = resident[l];
    cache->used(static_cast<LayerId>(l), wanted, step);
    ++step;
    accesses += wanted.count();
  }
  state.counters["accesses"] =
      benchmark::Counter(static_cast<double>(accesses), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(cache_layer, lru, "lru");
BENCHMARK_CAPTURE(cache_layer, lfu, "lfu");
BENCHMARK_CAPTURE(cache_layer, pinned, "{policy: pinned, share: 0}");

// The same cache as a list and a hash table: the reference that ratios are given to.
void cache_layer_list_and_hash_lru(benchmark::State& state) {
  const auto sets = random_sets();
  std::list<std::int64_t> order;  // oldest first
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> where;
  StepId step = 0;
  std::int64_t accesses = 0;
  for (auto _ : state) {
    const auto l = step % kLayers;
    const BlockSet& wanted = sets[static_cast<std::size_t>(step / kLayers % kSets * kLayers + l)];
    wanted.for_each([&](BlockId b) {
      const std::int64_t key = l * kBlocks + b;
      const auto found = where.find(key);
      if (found != where.end()) {
        order.splice(order.end(), order, found->second);
        return;
      }
      if (static_cast<SlotId>(where.size()) == kSlots) {
        where.erase(order.front());
        order.pop_front();
      }
      where[key] = order.insert(order.end(), key);
    });
    ++step;
    accesses += wanted.count();
  }
  state.counters["accesses"] =
      benchmark::Counter(static_cast<double>(accesses), benchmark::Counter::kIsRate);
}
BENCHMARK(cache_layer_list_and_hash_lru);

}  // namespace
}  // namespace leanstream::bench
