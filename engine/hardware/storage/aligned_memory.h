// Memory for O_DIRECT.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "engine/base/check.h"
#include "engine/base/types.h"

namespace leanstream::hardware {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeMemory>;

// Not initialised. `alignment_bytes` is a power of two.
inline AlignedMemory aligned_memory(Bytes bytes, Bytes alignment_bytes) {
  const Bytes rounded = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, rounded));
  LEANSTREAM_CHECK(memory != nullptr, "no memory for {} bytes", rounded);
  return AlignedMemory(memory);
}

}  // namespace leanstream::hardware
