#include "engine/scheduler/selection.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/model/density.h"

namespace leanstream::scheduler {
namespace {

// Block sums stay below 2^31, where they are exact in signed lanes too.
constexpr double kHighestSum = 0x7fffffff;

}  // namespace

std::int32_t Selection::wanted_count(const RunSpec& spec) {
  const model::BlockGeometry& g = spec.geometry;
  const std::int32_t of = spec.select == Select::neurons ? g.ffn : g.blocks_per_layer;
  return model::kept_count(spec.density, of);
}

Selection::Selection(const RunSpec& spec, const model::Activations& activations)
    : geometry_(spec.geometry),
      select_(spec.select),
      wanted_count_(wanted_count(spec)),
      placement_(spec.placement),
      neurons_(spec.geometry.ffn) {
  const double highest = kHighestSum / geometry_.block_neurons;
  for (LayerId l = 0; l < spec.layers; ++l) {
    const auto levels = activations.levels(l);
    const double top = std::max(static_cast<double>(levels.back()), 1e-30);
    std::vector<std::uint32_t> units;
    for (const float level : levels) {
      units.push_back(static_cast<std::uint32_t>(static_cast<double>(level) / top * highest));
    }
    units_.emplace_back(units);
  }
}

std::span<const std::uint8_t> Selection::in_flash_order(LayerId layer,
                                                        std::span<const std::uint8_t> codes) const {
  const auto order =
      placement_ == nullptr ? std::span<const std::int32_t>{} : placement_->order(layer);
  if (order.empty()) return codes;
  LEANSTREAM_CHECK(order.size() == codes.size(), "a placement of {} neurons for {}", order.size(),
                   codes.size());
  placed_.resize(codes.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    placed_[p] = codes[static_cast<std::size_t>(order[p])];
  }
  return placed_;
}

void Selection::sum(LayerId layer, std::span<const std::uint8_t> codes,
                    std::span<std::uint32_t> units) const {
  sum_placed(layer, in_flash_order(layer, codes), units);
}

void Selection::sum_placed(LayerId layer, std::span<const std::uint8_t> codes,
                           std::span<std::uint32_t> units) const {
  LEANSTREAM_CHECK(codes.size() == static_cast<std::size_t>(geometry_.ffn) &&
                       units.size() == static_cast<std::size_t>(geometry_.blocks_per_layer),
                   "{} codes of {} neurons, {} blocks", codes.size(), geometry_.ffn, units.size());
  units_[static_cast<std::size_t>(layer)].sum(codes, geometry_.block_neurons, units);
}

void Selection::choose(TokenId token, LayerId layer, std::span<const std::uint8_t> codes,
                       const BlockSet* always, BlockScores& out) {
  codes = in_flash_order(layer, codes);
  sum_placed(layer, codes, out.units);
  classes_of(out.units, out.priority);
  if (select_ == Select::blocks) {
    choose_blocks(token, always, out);
  } else {
    choose_neurons(token, codes, always, out.wanted);
  }
  if (always != nullptr) out.wanted |= *always;
}

void Selection::choose_blocks(TokenId token, const BlockSet* always, BlockScores& scores) {
  if (wanted_count_ == scores.wanted.size()) return scores.wanted.fill();
  if (always == nullptr) {
    top_.choose(scores.units, scores.priority, token, wanted_count_, scores.wanted);
    return;
  }
  raised_ = scores.priority;
  raised_units_ = scores.units;
  always->for_each([&](BlockId b) {
    raised_[static_cast<std::size_t>(b)] = std::numeric_limits<std::uint8_t>::max();
    raised_units_[static_cast<std::size_t>(b)] = std::numeric_limits<std::int32_t>::max();
  });
  top_.choose(raised_units_, raised_, token, wanted_count_, scores.wanted);
}

// A neuron of `always` counts as one of the highest code; ties with others of that code go by hash.
void Selection::choose_neurons(TokenId token, std::span<const std::uint8_t> codes,
                               const BlockSet* always, BlockSet& wanted) {
  if (always != nullptr) {
    raised_.assign(codes.begin(), codes.end());
    always->for_each([&](BlockId b) {
      std::fill_n(raised_.begin() + geometry_.first_neuron(b), geometry_.neurons(b),
                  std::numeric_limits<std::uint8_t>::max());
    });
    codes = raised_;
  }
  top_.choose(codes, token, wanted_count_, neurons_);
  wanted.clear();
  neurons_.for_each([&](BlockId j) { wanted.set(j / geometry_.block_neurons); });
}

}  // namespace leanstream::scheduler
