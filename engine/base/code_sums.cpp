#include "engine/base/code_sums.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the deliberately undefined operand in its own header for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace leanstream {
namespace {

using ByteTable = std::array<std::array<std::uint8_t, 256>, 4>;

// Pairs of codes; returns how many sums it wrote. Table look-ups are loads, so the codes come eight
// in one.
std::size_t pairs(const std::uint8_t* codes, const std::uint32_t* units, std::size_t count,
                  std::uint32_t* sums) {
  std::size_t b = 0;
  for (; b + 4 <= count; b += 4) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + 2 * b, sizeof eight);
    for (std::size_t i = 0; i < 4; ++i) {
      sums[b + i] = units[eight & 255] + units[eight >> 8 & 255];
      eight >>= 16;
    }
  }
  return b;
}

#if defined(__x86_64__)
#define LEANSTREAM_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

// table[code] for 64 codes, from the four quarters of the table.
LEANSTREAM_VBMI inline __m512i look_up(const __m512i (&table)[4], __m512i codes,
                                       __mmask64 upper_half) {
  const __m512i low = _mm512_permutex2var_epi8(table[0], codes, table[1]);
  const __m512i high = _mm512_permutex2var_epi8(table[2], codes, table[3]);
  return _mm512_mask_blend_epi8(upper_half, low, high);
}

// The same 32 pairs at a time: each byte of the units is looked up in registers, neighbours are
// added as 16 bits, and the four bytes are put together as 32.
LEANSTREAM_VBMI std::size_t pairs_vbmi(const std::uint8_t* codes, const ByteTable& bytes,
                                       std::size_t count, std::uint32_t* sums) {
  __m512i tables[4][4];
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t q = 0; q < 4; ++q) tables[p][q] = _mm512_load_si512(&bytes[p][64 * q]);
  }
  const __m512i ones = _mm512_set1_epi8(1);
  std::size_t b = 0;
  for (; b + 32 <= count; b += 32) {
    const __m512i c = _mm512_loadu_si512(codes + 2 * b);
    const __mmask64 upper_half = _mm512_movepi8_mask(c);
    __m512i first = _mm512_setzero_si512();
    __m512i second = first;
#pragma GCC unroll 4
    for (std::size_t p = 4; p-- > 0;) {
      const __m512i sum = _mm512_maddubs_epi16(look_up(tables[p], c, upper_half), ones);
      first = _mm512_add_epi32(_mm512_slli_epi32(first, 8),
                               _mm512_cvtepu16_epi32(_mm512_castsi512_si256(sum)));
      second = _mm512_add_epi32(_mm512_slli_epi32(second, 8),
                                _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(sum, 1)));
    }
    _mm512_storeu_si512(sums + b, first);
    _mm512_storeu_si512(sums + b + 16, second);
  }
  return b;
}
#endif

bool has_vbmi() {
#if defined(__x86_64__)
  static const bool has =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  return has;
#else
  return false;
#endif
}

}  // namespace

CodeSums::CodeSums(std::span<const std::uint32_t> units) {
  LEANSTREAM_CHECK(units.size() == units_.size(), "{} units", units.size());
  std::copy(units.begin(), units.end(), units_.begin());
  for (std::size_t p = 0; p < bytes_.size(); ++p) {
    for (std::size_t c = 0; c < units_.size(); ++c) {
      bytes_[p][c] = static_cast<std::uint8_t>(units_[c] >> 8 * p);
    }
  }
}

void CodeSums::sum(std::span<const std::uint8_t> codes, std::int32_t width,
                   std::span<std::uint32_t> sums) const {
  const auto w = static_cast<std::size_t>(width);
  LEANSTREAM_CHECK(width >= 1 && sums.size() == (codes.size() + w - 1) / w, "{} sums of {} codes",
                   sums.size(), codes.size());
  std::size_t b = 0;
  if (width == 2) {
#if defined(__x86_64__)
    if (has_vbmi()) b = pairs_vbmi(codes.data(), bytes_, codes.size() / 2, sums.data());
#endif
    b += pairs(codes.data() + 2 * b, units_.data(), codes.size() / 2 - b, sums.data() + b);
  }
  for (std::size_t j = b * w; b < sums.size(); ++b) {
    std::uint32_t sum = 0;
    for (const auto end = std::min(j + w, codes.size()); j < end; ++j) sum += units_[codes[j]];
    sums[b] = sum;
  }
}

}  // namespace leanstream
