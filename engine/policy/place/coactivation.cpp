#include "engine/policy/place/coactivation.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::policy {
namespace {

constexpr std::int32_t kTile = 64;  // neurons whose tokens stay in the processor's cache

// For each neuron the set of tokens that used it.
std::vector<BlockSet> tokens_of(std::int32_t ffn, std::span<const BlockSet> active) {
  std::vector<BlockSet> tokens(static_cast<std::size_t>(ffn),
                               BlockSet(static_cast<BlockId>(active.size())));
  for (std::size_t t = 0; t < active.size(); ++t) {
    active[t].for_each(
        [&](BlockId j) { tokens[static_cast<std::size_t>(j)].set(static_cast<BlockId>(t)); });
  }
  return tokens;
}

}  // namespace

Coactivation count_together(std::int32_t ffn, std::span<const BlockSet> active) {
  LEANSTREAM_CHECK(active.size() <= kMostCountedTokens, "{} tokens", active.size());
  const auto n = static_cast<std::size_t>(ffn);
  const auto tokens = tokens_of(ffn, active);
  Coactivation out{ffn, std::vector<std::uint32_t>(n), std::vector<std::uint16_t>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    out.uses[i] = static_cast<std::uint32_t>(tokens[i].count());
  }
  for (std::size_t first = 0; first < n; first += kTile) {
    const std::size_t end = std::min(n, first + kTile);
    for (std::size_t j = first + 1; j < n; ++j) {
      for (std::size_t i = first; i < std::min(end, j); ++i) {
        const auto both = static_cast<std::uint16_t>(tokens[i].count_common(tokens[j]));
        out.together[i * n + j] = out.together[j * n + i] = both;
      }
    }
  }
  return out;
}

}  // namespace leanstream::policy
