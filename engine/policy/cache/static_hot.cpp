#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct StaticHotParameters {
  double share = 0.9;
  bool hindsight = false;
};

// The blocks that the prompt used most often stay from then on; only others go, those with the
// fewest uses first. With `hindsight` the blocks that the whole rest of the trace will use most
// often: the best that any fixed choice could do.
class StaticHot final : public CachePolicy {
 public:
  using Parameters = StaticHotParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::ratio("share", &Parameters::share,
                      "of the slots for blocks that stay; what is read needs the others"),
        config::flag("hindsight", &Parameters::hindsight,
                     "choose by the recorded future instead of the prompt (a bound)")};
    return parameters;
  }

  StaticHot(const Context& context, const Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        counts_(context.layers, context.blocks_per_layer) {
    if (parameters.hindsight && context.future == nullptr) {
      throw UserError("cache static_hot: hindsight needs a recorded future; use it with a trace");
    }
    if (!parameters.hindsight && context.prompt_tokens == 0) {
      throw UserError("cache static_hot: without a prompt there is nothing to tell hot from cold");
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override {
    counts_.increment(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    if (hot_.empty()) return counts_.lowest(cache, count, out);
    others_.assign(cache.evictable.begin(), cache.evictable.end());
    for (std::size_t l = 0; l < others_.size(); ++l) others_[l] -= hot_[l];
    counts_.lowest({others_, cache.current_layer}, count, out);
  }

  void expired(LayerId, const BlockSet&, StepId step, BlockSet&) override {
    const bool decoding = step >= static_cast<StepId>(context_.prompt_tokens) * context_.layers;
    if (decoding && hot_.empty()) choose_hot();
  }

 private:
  void choose_hot() {
    if (parameters_.hindsight) look_ahead();
    std::vector<std::pair<std::uint32_t, BlockRef>> order;
    for (LayerId l = 0; l < context_.layers; ++l) {
      for (BlockId b = 0; b < context_.blocks_per_layer; ++b) {
        order.push_back({counts_.count(l, b), {l, b}});
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    hot_.assign(static_cast<std::size_t>(context_.layers), BlockSet(context_.blocks_per_layer));
    const auto most = static_cast<std::size_t>(parameters_.share * context_.slots + 1e-9);
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
      const BlockRef& ref = order[i].second;
      hot_[static_cast<std::size_t>(ref.layer)].set(ref.block);
    }
  }

  void look_ahead() {
    counts_ = BitCounters(context_.layers, context_.blocks_per_layer);
    for (TokenId t = context_.prompt_tokens; t < context_.future->tokens(); ++t) {
      for (LayerId l = 0; l < context_.layers; ++l) {
        counts_.increment(l, context_.future->wanted(t, l));
      }
    }
  }

  Context context_;
  Parameters parameters_;
  mutable BitCounters counts_;
  std::vector<BlockSet> hot_;             // of each layer; empty until the prompt has ended
  mutable std::vector<BlockSet> others_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(StaticHot, "static_hot", "the blocks that the prompt used most often stay")

}  // namespace leanstream::policy
