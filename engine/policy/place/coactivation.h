// How often the neurons of one layer were used, and used together, over some tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"

namespace leanstream::policy {

// Counts, or estimates of counts in a smaller unit.
struct Coactivation {
  std::int32_t ffn = 0;
  std::vector<std::uint32_t> uses;      // [ffn], below 2^16
  std::vector<std::uint16_t> together;  // [ffn, ffn], symmetric, the diagonal 0

  std::span<const std::uint16_t> row(std::int32_t i) const {
    const auto n = static_cast<std::size_t>(ffn);
    return std::span(together).subspan(static_cast<std::size_t>(i) * n, n);
  }

  // Jaccard index of the tokens of two neurons, |both| ÷ |either|, in units of 2⁻³²; 0 when neither
  // was used.
  std::uint32_t closeness(std::int32_t i, std::int32_t j) const {
    const std::uint64_t both = row(i)[static_cast<std::size_t>(j)];
    const std::uint64_t either =
        std::uint64_t{uses[static_cast<std::size_t>(i)]} + uses[static_cast<std::size_t>(j)] - both;
    return either == 0 ? 0 : static_cast<std::uint32_t>(both * 0xffffffffULL / either);
  }
};

// The most tokens that can be counted.
inline constexpr std::size_t kMostCountedTokens = 65535;

// active[t] holds the neurons, of `ffn`, that token t uses; at most kMostCountedTokens tokens.
Coactivation count_together(std::int32_t ffn, std::span<const BlockSet> active);

}  // namespace leanstream::policy
