#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// Evicts the blocks that were used least often since the run began; counts survive eviction.
class Lfu final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Lfu(const Context& context, const Parameters&)
      : counts_(context.layers, context.blocks_per_layer) {}

  void used(LayerId layer, const BlockSet& blocks, StepId) override {
    counts_.increment(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    counts_.lowest(cache, count, out);
  }

 private:
  mutable BitCounters counts_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Lfu, "lfu", "least frequently used first; counts survive eviction")

}  // namespace leanstream::policy
