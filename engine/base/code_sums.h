// Sums of what byte codes stand for, group by group: the importance of blocks from that of neurons.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace leanstream {

class CodeSums {
 public:
  // units[c] is what code c stands for; 256 of them.
  explicit CodeSums(std::span<const std::uint32_t> units);

  // sums[b] = Σ units[codes[j]] over the `width` ≥ 1 codes from b · width, the last over as many as
  // there are; sums.size() = ⌈codes.size() ÷ width⌉. Sums stay below 2^32.
  void sum(std::span<const std::uint8_t> codes, std::int32_t width,
           std::span<std::uint32_t> sums) const;

 private:
  std::array<std::uint32_t, 256> units_;
  // The same byte by byte, for look-ups in vector registers (VBMI): bytes_[p][c] is byte p.
  alignas(64) std::array<std::array<std::uint8_t, 256>, 4> bytes_;
};

}  // namespace leanstream
