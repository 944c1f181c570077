#include <algorithm>

#include "engine/base/error.h"
#include "engine/policy/cache/age_classes.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct WindowParameters {
  std::optional<std::int32_t> tokens;
};

// Keeps what the last w tokens used (LLM in a Flash, "windowing"). Without `tokens`, w is fixed at
// the end of the prompt: the largest for which the mean union of w tokens' sets fits. When a token
// does not fit, the oldest goes early. A cache that holds every block drops nothing.
class Window final : public CachePolicy {
 public:
  using Parameters = WindowParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("tokens", &Parameters::tokens,
                        "tokens kept; by default the most that fit on the prompt")
            .range(1, 1 << 20)};
    return parameters;
  }

  Window(const Context& context, const Parameters& parameters)
      : context_(context),
        fixed_(parameters.tokens),
        ages_(context.layers, context.blocks_per_layer),
        history_(static_cast<std::size_t>(context.layers)),
        newest_(static_cast<std::size_t>(context.layers)) {
    if (!fixed_ && context.prompt_tokens == 0) {
      throw UserError(
          "cache window: without a prompt there is nothing to fix the window on; give "
          "'tokens'");
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    ages_.stamp(layer, blocks, step);
    auto& sets = history_[static_cast<std::size_t>(layer)];
    StepId& newest = newest_[static_cast<std::size_t>(layer)];
    if (!sets.empty() && newest == step) {  // looked up block by block
      sets.back() |= blocks;
      return;
    }
    newest = step;
    sets.push_back(blocks);
    if (window_ > 0 && sets.size() > window_) sets.erase(sets.begin());
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    ages_.oldest(cache, count, out);
  }

  void expired(LayerId layer, const BlockSet& resident, StepId step, BlockSet& out) override {
    const bool decoding = step >= static_cast<StepId>(context_.prompt_tokens) * context_.layers;
    if (!decoding || holds_everything()) return;
    if (window_ == 0) fix_window();
    out = resident;
    for (const auto& set : history_[static_cast<std::size_t>(layer)]) out -= set;
  }

 private:
  bool holds_everything() const {
    return context_.slots >= context_.layers * context_.blocks_per_layer;
  }

  // The largest w for which the mean over the prompt of the union of w consecutive tokens' sets, in
  // blocks of all layers, fits.
  void fix_window() {
    window_ = fixed_ ? static_cast<std::size_t>(*fixed_) : 1;
    auto unions = history_;  // unions[layer][i]: of the sets i … i + window_ − 1
    const std::size_t tokens = history_.front().size();
    while (!fixed_ && window_ < tokens) {
      std::int64_t blocks = 0;
      const std::size_t windows = tokens - window_;  // of window_ + 1 tokens
      for (std::size_t l = 0; l < unions.size(); ++l) {
        for (std::size_t i = 0; i < windows; ++i) {
          unions[l][i] |= history_[l][i + window_];
          blocks += unions[l][i].count();
        }
      }
      if (blocks > static_cast<std::int64_t>(windows) * context_.slots) break;
      ++window_;
    }
    for (auto& sets : history_) {
      if (sets.size() > window_) sets.erase(sets.begin(), sets.end() - static_cast<long>(window_));
    }
  }

  Context context_;
  std::optional<std::int32_t> fixed_;
  mutable AgeClasses ages_;
  std::vector<std::vector<BlockSet>> history_;  // of each layer, the sets of the last tokens
  std::vector<StepId> newest_;                  // of each layer, the step of its last set
  std::size_t window_ = 0;                      // w; 0 until the prompt has ended
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Window, "window", "what the last w tokens used")

}  // namespace leanstream::policy
