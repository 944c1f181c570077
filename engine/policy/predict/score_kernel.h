// The inner loop of a synthetic prediction, compiled for each instruction set and chosen when the
// program runs. Integers only, so all of them give the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace leanstream::policy {

inline constexpr std::int32_t kScoreOne = 1024;  // a normal score of 1 as an integer
inline constexpr std::int32_t kScoreReach = 4;   // scores lie within ±4
inline constexpr std::size_t kScoreBins = 512;   // over ±kScoreReach
inline constexpr int kScoreBinBits = 4;          // of a score, lost in a bin
static_assert(kScoreBins << kScoreBinBits == 2 * kScoreReach * kScoreOne);

// Neurons are scored in groups of so many; what is given by neuron is padded to a multiple.
inline constexpr std::size_t kScoreGroup = 64;

struct ScoreKernel {
  std::array<std::int32_t, 256> truth{};  // of each code: weight · score
  std::int32_t final_error = 0;           // weights of the two errors
  std::int32_t stage_error = 0;
  std::array<std::uint8_t, kScoreBins> code_of_bin{};
  // The errors of neuron j come from mix(key, j); with periods from
  // mix(key + kEpochStep · epoch, j), epoch = (token · rate[j] + phase[j]) ÷ 2^32.
  std::uint64_t key = 0;
  std::uint64_t token = 0;
  const std::uint32_t* rates = nullptr;
  const std::uint32_t* phases = nullptr;

  static constexpr std::uint64_t kEpochStep = 0xd6e8feb86659fd93ULL;  // odd

  // codes[j] = code of the bin of truth[j]'s score plus both errors.
  void run(std::span<const std::uint8_t> truth_codes, std::span<std::uint8_t> codes) const;
};

// The loop for one instruction set, without and with periods.
struct ScoreVersion {
  using Body = void (*)(const ScoreKernel&, const std::uint8_t* truth_codes, std::uint8_t* codes,
                        std::size_t neurons);
  const char* name;
  Body fresh;
  Body lasting;
};

// Those that this machine can run, the fastest last: `run` takes that.
std::span<const ScoreVersion> score_versions();

// How often each code occurs.
std::array<std::uint32_t, 256> histogram_of(std::span<const std::uint8_t> codes);

}  // namespace leanstream::policy
