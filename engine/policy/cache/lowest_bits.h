// A part of a word of blocks.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/base/block_set.h"

namespace leanstream::policy {

// The lowest `most` members of a word, or all.
inline BlockSet::Word lowest_bits(BlockSet::Word word, std::int64_t most) {
  if (std::popcount(word) <= most) return word;
  BlockSet::Word others = word;
  for (; most > 0; --most) others &= others - 1;
  return word & ~others;
}

}  // namespace leanstream::policy
