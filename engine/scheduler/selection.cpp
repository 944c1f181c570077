#include "engine/scheduler/selection.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/model/density.h"

namespace leanstream::scheduler {
namespace {

// Wide enough for layers whose largest neuron is thousands of times the threshold's importance.
constexpr double kUnits = 0x1p35;
constexpr std::uint64_t kAbove = ~std::uint64_t{0};  // the key of what is wanted anyway
constexpr int kHashBits = 22;                        // sums of up to 64 neurons stay below 2^42

// Importance above a hash of (token, index), so that ties do not persist between tokens.
std::uint64_t key_of(std::uint64_t importance, TokenId token, std::int32_t index) {
  const std::uint64_t hash =
      mix(static_cast<std::uint64_t>(token), static_cast<std::uint64_t>(index));
  return importance << kHashBits | hash >> (64 - kHashBits);
}

}  // namespace

std::uint8_t priority_of(std::uint64_t units) {
  if (units == 0) return 0;
  const int octave = static_cast<int>(std::bit_width(units)) - 1;
  const auto eighth = static_cast<int>((units << 3 >> octave) & 7U);
  return static_cast<std::uint8_t>(std::min(255, octave * 6 + eighth * 6 / 8 + 1));
}

std::int32_t Selection::wanted_count(const RunSpec& spec) {
  const model::BlockGeometry& g = spec.geometry;
  const std::int32_t of = spec.select == Select::neurons ? g.ffn : g.blocks_per_layer;
  return model::kept_count(spec.density, of);
}

Selection::Selection(const RunSpec& spec, const model::Activations& activations)
    : geometry_(spec.geometry),
      select_(spec.select),
      wanted_count_(wanted_count(spec)),
      sums_(static_cast<std::size_t>(spec.geometry.blocks_per_layer)) {
  const std::int32_t of = select_ == Select::neurons ? geometry_.ffn : geometry_.blocks_per_layer;
  keys_.resize(static_cast<std::size_t>(of));
  for (LayerId l = 0; l < spec.layers; ++l) {
    const auto levels = activations.levels(l);
    const double top = std::max(static_cast<double>(levels.back()), 1e-30);
    auto& units = units_.emplace_back();
    for (const float level : levels) {
      units.push_back(static_cast<std::uint64_t>(static_cast<double>(level) / top * kUnits + 0.5));
    }
  }
}

std::span<const std::uint64_t> Selection::sum(LayerId layer, std::span<const std::uint8_t> codes) {
  LEANSTREAM_CHECK(codes.size() == static_cast<std::size_t>(geometry_.ffn),
                   "{} codes for {} neurons", codes.size(), geometry_.ffn);
  const auto& units = units_[static_cast<std::size_t>(layer)];
  const auto k = static_cast<std::size_t>(geometry_.block_neurons);
  for (std::size_t b = 0, j = 0; b < sums_.size(); ++b) {
    std::uint64_t s = 0;
    for (const std::size_t end = std::min(j + k, codes.size()); j < end; ++j) s += units[codes[j]];
    sums_[b] = s;
  }
  return sums_;
}

std::span<const std::uint64_t> Selection::choose(TokenId token, LayerId layer,
                                                 std::span<const std::uint8_t> codes,
                                                 const BlockSet* always, BlockSet& wanted,
                                                 std::span<std::uint8_t> priority) {
  sum(layer, codes);
  for (std::size_t b = 0; b < sums_.size(); ++b) priority[b] = priority_of(sums_[b]);
  wanted.clear();
  if (select_ == Select::blocks) {
    choose_blocks(token, always, wanted);
  } else {
    choose_neurons(token, codes, always, wanted);
  }
  if (always != nullptr) wanted |= *always;
  return sums_;
}

// Calls take(index) for the wanted_count_ largest keys; of equal ones the lower indices.
template <typename Take>
void Selection::take_best(Take take) {
  scratch_ = keys_;
  const auto last = scratch_.begin() + (wanted_count_ - 1);
  std::nth_element(scratch_.begin(), last, scratch_.end(), std::greater<>());
  const std::uint64_t least = *last;
  auto equal = std::count(scratch_.begin(), last + 1, least);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] > least || (keys_[i] == least && equal-- > 0)) take(static_cast<BlockId>(i));
  }
}

void Selection::choose_blocks(TokenId token, const BlockSet* always, BlockSet& wanted) {
  if (wanted_count_ == wanted.size()) return wanted.fill();
  for (std::size_t b = 0; b < keys_.size(); ++b) {
    keys_[b] = key_of(sums_[b], token, static_cast<std::int32_t>(b));
  }
  if (always != nullptr) {
    always->for_each([&](BlockId b) { keys_[static_cast<std::size_t>(b)] = kAbove; });
  }
  take_best([&](BlockId b) { wanted.set(b); });
}

void Selection::choose_neurons(TokenId token, std::span<const std::uint8_t> codes,
                               const BlockSet* always, BlockSet& wanted) {
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    keys_[j] = key_of(codes[j], token, static_cast<std::int32_t>(j));
  }
  if (always != nullptr) {
    always->for_each([&](BlockId b) {
      const auto first = static_cast<std::size_t>(geometry_.first_neuron(b));
      std::fill_n(keys_.begin() + static_cast<std::ptrdiff_t>(first), geometry_.neurons(b), kAbove);
    });
  }
  take_best([&](BlockId j) { wanted.set(j / geometry_.block_neurons); });
}

}  // namespace leanstream::scheduler
