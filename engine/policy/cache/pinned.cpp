#include <algorithm>

#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct PinnedParameters {
  std::optional<double> share;
};

// Keeps the same share of every layer, lowest blocks first, and drops everything else once its
// layer has been computed. Without a share: what two stream buffers (each the unpinned part of a
// layer) leave, (budget ÷ layer − 2) ÷ (layers − 2).
class Pinned final : public CachePolicy {
 public:
  using Parameters = PinnedParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::ratio("share", &Parameters::share,
                      "pinned share of every layer; by default what two stream buffers leave")};
    return parameters;
  }

  Pinned(const Context& context, const Parameters& parameters) : pinned_(context.blocks_per_layer) {
    const double layers_held = static_cast<double>(context.slots) / context.blocks_per_layer;
    const double left = context.layers > 2 ? (layers_held - 2) / (context.layers - 2)
                                           : layers_held / context.layers;
    const double share = std::clamp(parameters.share.value_or(left), 0.0, 1.0);
    const auto count = static_cast<BlockId>(share * context.blocks_per_layer + 1e-9);
    for (BlockId b = 0; b < count; ++b) pinned_.set(b);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    for (LayerId l = 0; l < static_cast<LayerId>(cache.evictable.size()) && count > 0; ++l) {
      BlockSet loose = cache.evictable[static_cast<std::size_t>(l)];
      loose -= pinned_;
      loose.for_each([&](BlockId b) {
        if (count > 0) out.push_back({l, b}), --count;
      });
    }
  }

  void expired(LayerId, const BlockSet& resident, StepId, BlockSet& out) override {
    out = resident;
    out -= pinned_;
  }

 private:
  BlockSet pinned_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Pinned, "pinned", "the same share of every layer, nothing else")

}  // namespace leanstream::policy
