#include "engine/policy/cache/age_classes.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// Evicts the blocks that were used longest ago; arrival counts as a first use.
class Lru final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Lru(const Context& context, const Parameters&)
      : ages_(context.layers, context.blocks_per_layer) {}

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    ages_.stamp(layer, blocks, step);
  }

  void inserted(LayerId layer, const BlockSet& blocks, StepId step) override {
    ages_.stamp(layer, blocks, step);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    ages_.oldest(cache, count, out);
  }

  void victim_sets(const CacheView& cache, BlockId count, VictimSets& out) const override {
    ages_.oldest(cache, count, out);
  }

 private:
  mutable AgeClasses ages_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Lru, "lru", "least recently used first")

}  // namespace leanstream::policy
