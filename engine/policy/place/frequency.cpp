#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/error.h"
#include "engine/base/top_choice.h"
#include "engine/model/density.h"
#include "engine/policy/place/placement.h"

namespace leanstream::policy {
namespace {

struct FrequencyParameters {
  std::optional<TokenId> fit_tokens{};
};

// Neurons that were used most often come first, of equal ones the lower index; so hot neurons share
// blocks with hot ones.
class Frequency final : public Placement {
 public:
  using Parameters = FrequencyParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("fit_tokens", &Parameters::fit_tokens,
                        "tokens at the start of the trace whose active sets are counted; by "
                        "default the prompt's. More than those look at what is decoded")
            .range(1, 1 << 24)};
    return parameters;
  }

  Frequency(const Context& context, const Parameters& parameters) {
    const model::Activations& activations = *context.activations;
    const TokenId tokens = parameters.fit_tokens.value_or(context.prompt_tokens);
    if (tokens < 1 || tokens > activations.tokens()) {
      throw UserError(
          "placement frequency: {} tokens to fit on, of a trace of {}; give the run "
          "prompt_tokens, or the placement fit_tokens",
          tokens, activations.tokens());
    }
    const std::int32_t count = model::kept_count(context.density, activations.ffn());
    for (LayerId l = 0; l < activations.layers(); ++l) {
      orders_.push_back(order_of(activations, l, tokens, count));
    }
  }

  std::span<const std::int32_t> order(LayerId layer) const override {
    return orders_[static_cast<std::size_t>(layer)];
  }

 private:
  static std::vector<std::int32_t> order_of(const model::Activations& activations, LayerId layer,
                                            TokenId tokens, std::int32_t count) {
    const auto ffn = static_cast<std::size_t>(activations.ffn());
    std::vector<std::int32_t> uses(ffn);
    BlockSet active(activations.ffn());
    TopChoice top;
    for (TokenId t = 0; t < tokens; ++t) {
      top.choose(activations.importance(t, layer), t, count, active);
      active.for_each([&](std::int32_t j) { ++uses[static_cast<std::size_t>(j)]; });
    }
    std::vector<std::int32_t> order(ffn);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return uses[static_cast<std::size_t>(a)] > uses[static_cast<std::size_t>(b)];
    });
    return order;
  }

  std::vector<std::vector<std::int32_t>> orders_;
};

}  // namespace

LEANSTREAM_PLACEMENT(Frequency, "frequency", "neurons by falling use, counted on the prompt")

}  // namespace leanstream::policy
