// What placements that are fitted on the activations of a run have in common.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/policy/place/placement.h"

namespace leanstream::policy {

struct FitParameters {
  std::optional<TokenId> fit_tokens{};

  static const config::Table<FitParameters>& table();
};

// The active sets of a layer at a density, of tokens first … end − 1, appended to `out`.
void append_active(const model::Activations& activations, LayerId layer, TokenId first, TokenId end,
                   double density, std::vector<BlockSet>& out);

// Neurons by falling use, of equal ones the lower first.
std::vector<std::int32_t> order_by_use(std::int32_t ffn, std::span<const BlockSet> active);
// The chain of neurons that are used together, by their Jaccard index.
std::vector<std::int32_t> order_by_pairs(std::int32_t ffn, std::span<const BlockSet> active);

// An order made of the active sets of a layer: order_by_use, order_by_pairs.
using OrderBy = std::vector<std::int32_t> (*)(std::int32_t ffn, std::span<const BlockSet> active);

// The order of each layer by the tokens that a placement of that name may look at. Throws UserError
// when there are none, or fewer than asked for.
std::vector<std::vector<std::int32_t>> fit_orders(const Placement::Context& context,
                                                  const FitParameters& parameters, const char* name,
                                                  OrderBy order_by);

}  // namespace leanstream::policy
