#include "engine/policy/place/fit.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/top_choice.h"
#include "engine/model/density.h"
#include "engine/policy/place/chain.h"
#include "engine/policy/place/coactivation.h"

namespace leanstream::policy {
namespace {

TokenId tokens_to_fit(const Placement::Context& context, const FitParameters& parameters,
                      const char* name) {
  const TokenId tokens = parameters.fit_tokens.value_or(context.prompt_tokens);
  const TokenId most = std::min(context.activations->tokens(), TokenId{kMostCountedTokens});
  if (tokens < 1 || tokens > most) {
    throw UserError(
        "placement {}: {} tokens to fit on, of a trace of {} (at most {} are counted); give the "
        "run prompt_tokens, or the placement fit_tokens",
        name, tokens, context.activations->tokens(), kMostCountedTokens);
  }
  return tokens;
}

}  // namespace

const config::Table<FitParameters>& FitParameters::table() {
  static const config::Table<FitParameters> parameters{
      config::integer("fit_tokens", &FitParameters::fit_tokens,
                      "tokens at the start of the trace whose active sets are counted; by "
                      "default the prompt's. More than those look at what is decoded")
          .range(1, kMostCountedTokens)};
  return parameters;
}

void append_active(const model::Activations& activations, LayerId layer, TokenId first, TokenId end,
                   double density, std::vector<BlockSet>& out) {
  const std::int32_t count = model::kept_count(density, activations.ffn());
  TopChoice top;
  for (TokenId t = first; t < end; ++t) {
    out.emplace_back(activations.ffn());
    top.choose(activations.importance(t, layer), t, count, out.back());
  }
}

std::vector<std::int32_t> order_by_use(std::int32_t ffn, std::span<const BlockSet> active) {
  std::vector<std::int32_t> uses(static_cast<std::size_t>(ffn));
  for (const BlockSet& set : active) {
    set.for_each([&](BlockId j) { ++uses[static_cast<std::size_t>(j)]; });
  }
  std::vector<std::int32_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return uses[static_cast<std::size_t>(a)] > uses[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<std::int32_t> order_by_pairs(std::int32_t ffn, std::span<const BlockSet> active) {
  const Coactivation pairs = count_together(ffn, active);
  return nearest_link_chain(ffn,
                            [&](std::int32_t i, std::int32_t j) { return pairs.closeness(i, j); });
}

std::vector<std::vector<std::int32_t>> fit_orders(const Placement::Context& context,
                                                  const FitParameters& parameters, const char* name,
                                                  OrderBy order_by) {
  const TokenId tokens = tokens_to_fit(context, parameters, name);
  const model::Activations& activations = *context.activations;
  std::vector<std::vector<std::int32_t>> orders;
  std::vector<BlockSet> active;
  for (LayerId l = 0; l < activations.layers(); ++l) {
    active.clear();
    append_active(activations, l, 0, tokens, context.density, active);
    orders.push_back(order_by(activations.ffn(), active));
  }
  return orders;
}

}  // namespace leanstream::policy
