#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// Evicts the blocks that were used least often since they came from flash: the usual LFU, which
// forgets what it evicts.
class LfuInCache final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  LfuInCache(const Context& context, const Parameters&)
      : counts_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    counts_.reset(layer, blocks);
  }

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

LEANSTREAM_CACHE_POLICY(LfuInCache, "lfu_in_cache", "fewest uses since it came from flash first")

}  // namespace leanstream::policy
