#include <algorithm>

#include "engine/base/error.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct PinnedParameters {
  std::optional<double> share;
};

// Keeps the same share of every layer, lowest blocks first, and drops everything else once its
// layer has been computed. Without a share: what two stream buffers (each the unpinned part of a
// layer) leave, (budget ÷ layer − 2) ÷ (layers − 2); a larger one is refused.
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
    const BlockId most = most_pinned(context);
    const double blocks = context.blocks_per_layer;
    const auto wish = static_cast<BlockId>(parameters.share.value_or(1.0) * blocks + 1e-9);
    if (parameters.share && wish > most) {
      throw UserError(
          "cache pinned: a share of {} leaves no room for two stream buffers; this "
          "budget allows at most {:.4f}",
          *parameters.share, most / blocks);
    }
    for (BlockId b = 0; b < std::min(wish, most); ++b) pinned_.set(b);
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
  // The largest p with layers · p + 2 · (blocks − p) ≤ slots: 0 when two layers do not fit.
  static BlockId most_pinned(const Context& context) {
    const BlockId blocks = context.blocks_per_layer;
    const BlockId left = context.slots - std::min(2, context.layers) * blocks;
    if (left < 0) return 0;
    return context.layers <= 2 ? blocks : std::min(blocks, left / (context.layers - 2));
  }

  BlockSet pinned_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Pinned, "pinned", "the same share of every layer, nothing else")

}  // namespace leanstream::policy
