#include "traces/placement_statistics.h"

#include <algorithm>

#include "engine/base/block_set.h"
#include "engine/base/top_choice.h"
#include "engine/model/density.h"

namespace leanstream::traces {
namespace {

struct Sums {
  std::int64_t neurons = 0, blocks = 0, requests = 0;
};

// Counts the blocks of k that hold a member of `wanted` (flash positions, rising).
void add_reads(const BlockSet& wanted, std::int32_t k, Sums& sums) {
  BlockId last = -2;
  wanted.for_each([&](BlockId p) {
    const BlockId block = p / k;
    if (block == last) return;
    sums.requests += block != last + 1;
    sums.neurons += std::min<BlockId>(k, wanted.size() - block * k);
    ++sums.blocks;
    last = block;
  });
}

}  // namespace

PlacementStatistics placement_statistics(const model::Activations& activations,
                                         std::span<const std::span<const std::int32_t>> orders,
                                         double density, TokenId first, TokenId end,
                                         std::span<const std::int32_t> block_neurons) {
  const std::int32_t ffn = activations.ffn();
  const std::int32_t count = model::kept_count(density, ffn);
  std::vector<Sums> sums(block_neurons.size());
  std::int64_t wanted = 0, runs = 0;
  BlockSet active(ffn), placed(ffn);
  TopChoice top;
  for (TokenId t = first; t < end; ++t) {
    for (LayerId l = 0; l < activations.layers(); ++l) {
      top.choose(activations.importance(t, l), t, count, active);
      const auto order = orders[static_cast<std::size_t>(l)];
      for (BlockId p = 0; p < ffn; ++p) {
        const BlockId j = order.empty() ? p : order[static_cast<std::size_t>(p)];
        if (active.test(j)) {
          placed.set(p);
        } else {
          placed.reset(p);
        }
      }
      for (std::size_t i = 0; i < sums.size(); ++i) add_reads(placed, block_neurons[i], sums[i]);
      Sums single;
      add_reads(placed, 1, single);
      wanted += single.neurons;
      runs += single.requests;
    }
  }
  const double steps = static_cast<double>(end - first) * activations.layers();
  PlacementStatistics out{static_cast<double>(wanted) / steps,
                          static_cast<double>(wanted) / static_cast<double>(runs),
                          {}};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& s = sums[i];
    out.by_block_neurons.push_back(
        {block_neurons[i], static_cast<double>(s.neurons) / static_cast<double>(wanted),
         static_cast<double>(s.blocks) / static_cast<double>(s.requests),
         static_cast<double>(s.requests) / steps, static_cast<double>(s.blocks) / steps});
  }
  return out;
}

}  // namespace leanstream::traces
