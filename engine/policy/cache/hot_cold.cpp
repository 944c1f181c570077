#include <algorithm>

#include "engine/base/error.h"
#include "engine/policy/cache/age_classes.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct HotColdParameters {
  std::optional<double> hot_share;
};

// The blocks that the prompt used most often, each for at least half of its tokens, are hot: they
// stay and are computed for every token. The rest of the budget holds cold ones, least recently
// used first (PowerInfer-2, arXiv 2406.06282). Without `hot_share` it is the one of 0, 0.1 … 0.9
// with the lowest cost when the prompt's tokens are played again: a cold block that misses costs
// one, and so does a hot block that the token did not use, since it takes the place of one that
// was. No layer has more hot blocks than a token wants of it.
class HotCold final : public CachePolicy {
 public:
  using Parameters = HotColdParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::ratio("hot_share", &Parameters::hot_share,
                      "share of the budget for hot blocks; by default searched on the prompt")};
    return parameters;
  }

  HotCold(const Context& context, const Parameters& parameters)
      : context_(context),
        share_(parameters.hot_share),
        ages_(context.layers, context.blocks_per_layer),
        prompt_(static_cast<std::size_t>(context.layers)),
        newest_(static_cast<std::size_t>(context.layers)) {
    if (context.prompt_tokens == 0) {
      throw UserError("cache hot_cold: without a prompt there is nothing to tell hot from cold");
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    ages_.stamp(layer, blocks, step);
    if (!hot_.empty()) return;
    auto& sets = prompt_[static_cast<std::size_t>(layer)];
    StepId& newest = newest_[static_cast<std::size_t>(layer)];
    if (!sets.empty() && newest == step) {  // looked up block by block
      sets.back() |= blocks;
    } else {
      sets.push_back(blocks);
      newest = step;
    }
  }

  void inserted(LayerId layer, const BlockSet& blocks, StepId step) override {
    ages_.stamp(layer, blocks, step);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    if (hot_.empty()) return ages_.oldest(cache, count, out);
    cold_.assign(cache.evictable.begin(), cache.evictable.end());
    for (std::size_t l = 0; l < cold_.size(); ++l) cold_[l] -= hot_[l];
    const std::size_t before = out.size();
    ages_.oldest({cold_, cache.current_layer, cache.resident}, count, out);
    const auto left = count - static_cast<BlockId>(out.size() - before);
    if (left == 0) return;
    for (std::size_t l = 0; l < cold_.size(); ++l) {  // nothing cold is left: hot ones go
      cold_[l] = cache.evictable[l];
      cold_[l] &= hot_[l];
    }
    ages_.oldest({cold_, cache.current_layer, cache.resident}, left, out);
  }

  void prompt_ended() override { choose_hot(); }

  const BlockSet* always_computed(LayerId layer) const override {
    return hot_.empty() ? nullptr : &hot_[static_cast<std::size_t>(layer)];
  }

 private:
  struct Count {
    std::int32_t uses;
    BlockRef ref;
  };

  void choose_hot() {
    std::vector<std::vector<std::int32_t>> uses;
    std::vector<Count> order;
    for (LayerId l = 0; l < context_.layers; ++l) {
      auto& of_layer = uses.emplace_back(static_cast<std::size_t>(context_.blocks_per_layer));
      for (const BlockSet& set : prompt_[static_cast<std::size_t>(l)]) {
        set.for_each([&](BlockId b) { ++of_layer[static_cast<std::size_t>(b)]; });
      }
      for (BlockId b = 0; b < context_.blocks_per_layer; ++b) {
        if (2 * of_layer[static_cast<std::size_t>(b)] >= context_.prompt_tokens) {
          order.push_back({of_layer[static_cast<std::size_t>(b)], {l, b}});
        }
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Count& a, const Count& b) { return a.uses > b.uses; });
    if (share_) {
      hot_ = hottest(order, *share_);
    } else {
      double least = 0;
      for (int tenths = 0; tenths < 10; ++tenths) {
        auto candidate = hottest(order, tenths / 10.0);
        const double cost = cost_of(candidate);
        if (tenths > 0 && cost >= least) continue;
        least = cost;
        hot_ = std::move(candidate);
      }
    }
    prompt_.clear();
  }

  std::vector<BlockSet> hottest(const std::vector<Count>& order, double share) const {
    std::vector<BlockSet> hot(static_cast<std::size_t>(context_.layers),
                              BlockSet(context_.blocks_per_layer));
    std::vector<BlockId> room;
    for (const auto& sets : prompt_) room.push_back(sets.front().count());
    auto left = static_cast<SlotId>(share * context_.slots);
    for (const Count& c : order) {
      const auto l = static_cast<std::size_t>(c.ref.layer);
      if (left == 0) break;
      if (room[l] == 0) continue;
      hot[l].set(c.ref.block);
      --room[l], --left;
    }
    return hot;
  }

  // Cold blocks that a least-recently-used cache beside `hot` would miss on the prompt, and hot
  // ones that its tokens did not use. A token takes as many cold blocks as the hot ones leave of
  // its wanted number; which, the prompt's sets do not say, so all of its cold ones count for that
  // share.
  double cost_of(const std::vector<BlockSet>& hot) const {
    AgeClasses ages(context_.layers, context_.blocks_per_layer);
    std::vector<BlockSet> cached(hot.size(), BlockSet(context_.blocks_per_layer));
    SlotId free = context_.slots;
    for (const BlockSet& set : hot) free -= set.count();
    std::vector<BlockRef> out;
    double cost = 0;
    for (std::size_t t = 0; t < prompt_.front().size(); ++t) {
      for (std::size_t l = 0; l < hot.size(); ++l) {
        BlockSet cold = prompt_[l][t];
        const double taken = cold.count() - hot[l].count();
        cost += hot[l].count() - hot[l].count_common(cold);
        cold -= hot[l];
        const BlockId wanted = cold.count();
        if (wanted == 0) continue;
        const BlockId missing = wanted - cold.count_common(cached[l]);
        cost += missing * std::max(0.0, taken / wanted);
        free -= missing;
        cached[l] |= cold;
        const auto layer = static_cast<LayerId>(l);
        ages.stamp(layer, cold, static_cast<StepId>(t) * context_.layers + layer);
        if (free >= 0) continue;
        out.clear();
        ages.oldest({cached, layer, cached}, -free, out);
        for (const BlockRef& ref : out)
          cached[static_cast<std::size_t>(ref.layer)].reset(ref.block);
        free = 0;
      }
    }
    return cost;
  }

  Context context_;
  std::optional<double> share_;
  mutable AgeClasses ages_;
  std::vector<std::vector<BlockSet>> prompt_;  // [layer][token]: what the prompt used
  std::vector<StepId> newest_;                 // of each layer, the step of its last set
  std::vector<BlockSet> hot_;                  // of each layer; empty until the prompt has ended
  mutable std::vector<BlockSet> cold_;         // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(HotCold, "hot_cold", "the prompt's hottest stay, the rest by last use")

}  // namespace leanstream::policy
