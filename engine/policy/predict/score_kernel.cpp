#include "engine/policy/predict/score_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/hash.h"

// The bodies are inlined into one function for each instruction set, which is what lets the
// compiler use its vectors (as in engine/transformer/kernels.cpp).
#define LEANSTREAM_INLINE inline __attribute__((always_inline))

namespace leanstream::policy {
namespace {

template <int Lanes>
struct Vector {
  typedef std::uint64_t Words __attribute__((vector_size(Lanes * 8)));
  typedef std::int32_t Pairs __attribute__((vector_size(Lanes * 8)));  // low half first
  typedef std::int32_t Scores __attribute__((vector_size(Lanes * 4)));
};

// mix(a, b) of base/hash.h, lane by lane, given a + golden · (b + 1).
template <typename Words>
LEANSTREAM_INLINE void finish_mix(Words& z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
}

// v ÷ 1024, rounded towards zero.
template <typename Integers>
LEANSTREAM_INLINE void divide_by_1024(Integers& v) {
  v = (v + ((v >> 31) & 1023)) >> 10;
}

// Of a random word, both halves made about normal with unit variance kScoreOne, weighted and added
// to the scores: the sum of four bytes (Irwin–Hall) has variance 4 · (256² − 1) ÷ 12.
template <int Lanes>
LEANSTREAM_INLINE void add_errors(const typename Vector<Lanes>::Words& word,
                                  const typename Vector<Lanes>::Pairs& weights,
                                  typename Vector<Lanes>::Scores& scores) {
  using Words = typename Vector<Lanes>::Words;
  using Pairs = typename Vector<Lanes>::Pairs;
  constexpr std::uint64_t kBytes = 0x00FF00FF00FF00FFULL;
  const Words bytes = (word & kBytes) + (word >> 8 & kBytes);
  const Words sums = (bytes + (bytes >> 16)) & 0x0000FFFF0000FFFFULL;
  // 3547/1024 = kScoreOne ÷ (2 · √21845)
  Pairs deviates = (reinterpret_cast<Pairs>(sums) * 2 - 1020) * 3547;
  divide_by_1024(deviates);
  const Pairs weighted = deviates * weights;
  const Words both = reinterpret_cast<Words>(weighted);
  scores += __builtin_convertvector(both + (both >> 32), typename Vector<Lanes>::Scores);
}

template <int Lanes>
LEANSTREAM_INLINE void load(const std::uint32_t* from, typename Vector<Lanes>::Words& words) {
  typedef std::uint32_t Halves __attribute__((vector_size(Lanes * 4)));
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  words = __builtin_convertvector(halves, typename Vector<Lanes>::Words);
}

// Eight table look-ups from one load: compilers make detours over vectors of what is loaded singly.
template <int... Byte>
LEANSTREAM_INLINE void look_up_eight(std::int32_t* to, const std::array<std::int32_t, 256>& table,
                                     const std::uint8_t* from,
                                     std::integer_sequence<int, Byte...>) {
  std::uint64_t eight;
  std::memcpy(&eight, from, sizeof eight);
  ((to[Byte] = table[eight >> (8 * Byte) & 0xFF]), ...);
}

template <int Lanes, bool Lasting>
LEANSTREAM_INLINE void score(const ScoreKernel& k, const std::uint8_t* truth, std::uint8_t* codes,
                             std::size_t neurons) {
  using Words = typename Vector<Lanes>::Words;
  using Scores = typename Vector<Lanes>::Scores;
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  std::uint64_t first_words[Lanes];
  std::int32_t both_weights[2 * Lanes];
  for (int i = 0; i < Lanes; ++i) {
    first_words[i] = k.key + kGolden * static_cast<std::uint64_t>(i + 1);
    both_weights[2 * i] = k.final_error;
    both_weights[2 * i + 1] = k.stage_error;
  }
  Words next;
  typename Vector<Lanes>::Pairs weights;
  std::memcpy(&next, first_words, sizeof next);
  std::memcpy(&weights, both_weights, sizeof weights);

  std::int32_t scores[kScoreGroup];
  std::uint8_t tail[kScoreGroup] = {};
  for (std::size_t first = 0; first < neurons; first += kScoreGroup) {
    const std::size_t count = std::min(kScoreGroup, neurons - first);
    const bool whole = count == kScoreGroup;
    if (!whole) std::copy_n(truth + first, count, tail);
    const std::uint8_t* from = whole ? truth + first : tail;
    for (std::size_t i = 0; i < kScoreGroup; i += 8) {
      look_up_eight(scores + i, k.truth, from + i, std::make_integer_sequence<int, 8>{});
    }
    for (std::size_t i = 0; i < kScoreGroup; i += Lanes, next += kGolden * Lanes) {
      Words word = next;
      if constexpr (Lasting) {
        Words rate, phase;
        load<Lanes>(k.rates + first + i, rate);
        load<Lanes>(k.phases + first + i, phase);
        word += ((k.token * rate + phase) >> 32) * ScoreKernel::kEpochStep;
      }
      finish_mix(word);
      Scores bin;
      std::memcpy(&bin, scores + i, sizeof bin);
      add_errors<Lanes>(word, weights, bin);
      divide_by_1024(bin);
      bin = (bin + kScoreReach * kScoreOne) >> kScoreBinBits;
      bin = bin < 0 ? Scores{} : bin;
      const Scores last = Scores{} + static_cast<std::int32_t>(kScoreBins - 1);
      bin = bin > last ? last : bin;
      std::memcpy(scores + i, &bin, sizeof bin);
    }
    std::uint8_t* to = whole ? codes + first : tail;
    for (std::size_t i = 0; i < kScoreGroup; ++i) {
      to[i] = k.code_of_bin[static_cast<std::size_t>(scores[i])];
    }
    if (!whole) std::copy_n(tail, count, codes + first);
  }
}

#define LEANSTREAM_SCORES(suffix, attribute, lanes)                                             \
  attribute void fresh_##suffix(const ScoreKernel& k, const std::uint8_t* t, std::uint8_t* c,   \
                                std::size_t n) {                                                \
    score<lanes, false>(k, t, c, n);                                                            \
  }                                                                                             \
  attribute void lasting_##suffix(const ScoreKernel& k, const std::uint8_t* t, std::uint8_t* c, \
                                  std::size_t n) {                                              \
    score<lanes, true>(k, t, c, n);                                                             \
  }

LEANSTREAM_SCORES(base, , 2)
#if defined(__x86_64__)
LEANSTREAM_SCORES(avx2, __attribute__((target("avx2"))), 4)
LEANSTREAM_SCORES(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,avx2"))), 8)
#endif

std::vector<ScoreVersion> runnable() {
  std::vector<ScoreVersion> versions{{"base", fresh_base, lasting_base}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) versions.push_back({"avx2", fresh_avx2, lasting_avx2});
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    versions.push_back({"avx512", fresh_avx512, lasting_avx512});
  }
#endif
  return versions;
}

}  // namespace

std::span<const ScoreVersion> score_versions() {
  static const std::vector<ScoreVersion> versions = runnable();
  return versions;
}

void ScoreKernel::run(std::span<const std::uint8_t> truth_codes,
                      std::span<std::uint8_t> codes) const {
  static const ScoreVersion fastest = score_versions().back();
  LEANSTREAM_CHECK(truth_codes.size() == codes.size(), "{} codes for {} neurons", codes.size(),
                   truth_codes.size());
  const auto body = rates == nullptr ? fastest.fresh : fastest.lasting;
  body(*this, truth_codes.data(), codes.data(), codes.size());
}

std::array<std::uint32_t, 256> histogram_of(std::span<const std::uint8_t> codes) {
  // Four counters of each code: equal neighbours would wait for each other.
  std::array<std::array<std::uint32_t, 256>, 4> parts{};
  std::size_t i = 0;
  for (; i + 4 <= codes.size(); i += 4) {
    ++parts[0][codes[i]];
    ++parts[1][codes[i + 1]];
    ++parts[2][codes[i + 2]];
    ++parts[3][codes[i + 3]];
  }
  for (; i < codes.size(); ++i) ++parts[0][codes[i]];
  for (std::size_t c = 0; c < 256; ++c) parts[0][c] += parts[1][c] + parts[2][c] + parts[3][c];
  return parts[0];
}

}  // namespace leanstream::policy
