// Random streams of our own: the same numbers on every compiler and machine. One named stream for
// each component, so that a new component does not shift the numbers of the others.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace leanstream {

// Philox 4×32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): a counter
// in, 128 random bits out.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

class RandomStream {
 public:
  // `name` is the component's, for example "predict.statistical".
  RandomStream(std::uint64_t seed, std::string_view name);

  std::uint64_t next_u64();
  // Uniform in [0, 1) with 53 bits.
  double next_unit();
  // Uniform in 0 … bound − 1, without bias; bound ≥ 1.
  std::uint64_t next_below(std::uint64_t bound);

  // Stateless: the word at (a, b, c) of this stream, whatever was drawn before.
  std::uint64_t at(std::uint32_t a, std::uint32_t b, std::uint32_t c) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t counter_ = 0;
  std::array<std::uint64_t, 2> buffer_{};
  int left_ = 0;
};

}  // namespace leanstream
