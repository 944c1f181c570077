#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct LfuAgingParameters {
  std::int32_t halve_every = 256;
};

// As lfu, but all counts are halved every so many tokens, so that a past topic is forgotten.
class LfuAging final : public CachePolicy {
 public:
  using Parameters = LfuAgingParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("halve_every", &Parameters::halve_every, "tokens after which counts halve")
            .range(1, 1 << 20)};
    return parameters;
  }

  LfuAging(const Context& context, const Parameters& parameters)
      : period_(static_cast<StepId>(parameters.halve_every) * context.layers),
        counts_(context.layers, context.blocks_per_layer) {}

  // In prefill the first layer hears of all tokens before the others do: a period ends once.
  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    for (; step / period_ > halvings_; ++halvings_) counts_.halve();
    counts_.increment(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    counts_.lowest(cache, count, out);
  }

 private:
  StepId period_;
  StepId halvings_ = 0;
  mutable BitCounters counts_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(LfuAging, "lfu_aging", "as lfu, with counts that are halved now and then")

}  // namespace leanstream::policy
