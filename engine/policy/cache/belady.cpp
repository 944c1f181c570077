#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// Evicts what is needed again last (Belady's MIN): a bound, as it knows the recorded future. Among
// blocks never needed again the lower layer and block go first.
class Belady final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Belady(const Context& context, const Parameters&) : context_(context), layers_(context.layers) {
    if (context.future == nullptr) {
      throw UserError("cache belady: it needs a recorded future; use it with a trace");
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    look_ahead();
    const auto token = static_cast<TokenId>(step / layers_);
    const auto& sets = sets_[static_cast<std::size_t>(layer)];
    auto& next = next_[static_cast<std::size_t>(layer)];
    blocks.for_each([&](BlockId b) {
      TokenId& at = next[static_cast<std::size_t>(b)];
      if (at > token) return;  // in prefill: its first use in decode
      for (at = token + 1; at < static_cast<TokenId>(sets.size()); ++at) {
        if (sets[static_cast<std::size_t>(at)].test(b)) return;
      }
      at = kNoToken;
    });
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    look_ahead();
    order_.clear();
    for (LayerId l = 0; l < layers_; ++l) {
      const auto& next = next_[static_cast<std::size_t>(l)];
      cache.evictable[static_cast<std::size_t>(l)].for_each([&](BlockId b) {
        const TokenId token = next[static_cast<std::size_t>(b)];
        const StepId step = token == kNoToken ? std::numeric_limits<StepId>::max()
                                              : static_cast<StepId>(token) * layers_ + l;
        order_.push_back({step, {l, b}});
      });
    }
    const auto wanted = std::min(order_.size(), static_cast<std::size_t>(count));
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(wanted),
                      order_.end(), [](const Use& a, const Use& b) {
                        if (a.step != b.step) return a.step > b.step;
                        if (a.ref.layer != b.ref.layer) return a.ref.layer < b.ref.layer;
                        return a.ref.block < b.ref.block;
                      });
    for (std::size_t i = 0; i < wanted; ++i) out.push_back(order_[i].ref);
  }

 private:
  static constexpr TokenId kNoToken = std::numeric_limits<TokenId>::max();

  struct Use {
    StepId step;
    BlockRef ref;
  };

  // Once, when first needed: policies are also made to be checked, and then never run.
  void look_ahead() const {
    if (!sets_.empty()) return;
    for (LayerId l = 0; l < layers_; ++l) {
      auto& sets = sets_.emplace_back();
      auto& next =
          next_.emplace_back(static_cast<std::size_t>(context_.blocks_per_layer), kNoToken);
      for (TokenId t = 0; t < context_.future->tokens(); ++t) {
        sets.push_back(context_.future->wanted(t, l));
      }
      for (TokenId t = context_.future->tokens(); t-- > context_.prompt_tokens;) {
        sets[static_cast<std::size_t>(t)].for_each(
            [&](BlockId b) { next[static_cast<std::size_t>(b)] = t; });
      }
    }
  }

  Context context_;
  LayerId layers_;
  mutable std::vector<std::vector<BlockSet>> sets_;  // [layer][token]: what will be wanted
  mutable std::vector<std::vector<TokenId>> next_;   // [layer][block]: the token that needs it next
  mutable std::vector<Use> order_;                   // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Belady, "belady", "needed again last goes first (a bound)")

}  // namespace leanstream::policy
