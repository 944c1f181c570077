// Memory for O_DIRECT.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include <sys/mman.h>

#include "engine/base/check.h"
#include "engine/base/types.h"

namespace leanstream::hardware {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeMemory>;

inline constexpr Bytes kHugePageBytes = Bytes{2} << 20;

// Not initialised. `alignment_bytes` is a power of two. Memory of 2 MiB and more asks for huge
// pages: the kernel then describes a read by one piece instead of one for each 4 KiB.
inline AlignedMemory aligned_memory(Bytes bytes, Bytes alignment_bytes) {
  const bool huge = bytes >= kHugePageBytes;
  if (huge) alignment_bytes = std::max(alignment_bytes, kHugePageBytes);
  const Bytes rounded = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, rounded));
  LEANSTREAM_CHECK(memory != nullptr, "no memory for {} bytes", rounded);
  if (huge) ::madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: without it all works too
  return AlignedMemory(memory);
}

}  // namespace leanstream::hardware
