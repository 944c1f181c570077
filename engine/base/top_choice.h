// The largest of many integers as a set: how neurons and blocks are chosen by importance. Vector
// code (Highway) for the processor it runs on; every one chooses the same.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"

namespace leanstream {

// How a choice was cut out of the values.
struct Cut {
  std::int32_t tied = 0;    // members with the value of the last one taken
  std::int32_t chosen = 0;  // of those, how many were taken: the hash decided when chosen < tied
};

// Of equal values those with the largest mix(token, index) are taken; of equal hashes the higher
// index. `out` has as many members as there are values and is overwritten; 1 ≤ count ≤ size.
class TopChoice {
 public:
  Cut choose(std::span<const std::uint8_t> values, TokenId token, std::int32_t count,
             BlockSet& out);

  // classes[i] is class_of(values[i]).
  Cut choose(std::span<const std::uint32_t> values, std::span<const std::uint8_t> classes,
             TokenId token, std::int32_t count, BlockSet& out);

 private:
  using Candidate = std::pair<std::uint64_t, BlockId>;

  void split(std::span<const std::uint8_t> values, std::int32_t count, BlockSet& out);
  Cut take_equal(TokenId token, std::int32_t count, BlockSet& out);

  std::uint8_t last_cut_ = 0;        // where the next is looked for first
  BlockSet equal_;                   // scratch: those with the value of the cut
  std::vector<BlockId> candidates_;  // scratch: the same
  std::vector<Candidate> by_hash_;   // scratch: the same
  std::vector<std::uint32_t> keys_;  // scratch: values of the class that the cut goes through
};

// A byte that never falls when the value rises: eight logarithmic steps an octave.
// value < 2^31; 0 for 0 and 1.
std::uint8_t class_of(std::uint32_t value);
// The same for many.
void classes_of(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes);

}  // namespace leanstream
