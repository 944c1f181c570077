// Values of a GGUF file as bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "engine/transformer/gguf.h"

namespace leanstream::transformer {

// Bytes of a value of fixed size, 0 for text, arrays and unknown types.
inline std::size_t fixed_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return 8;
    case GgufType::kText:
    case GgufType::kArray:
      break;
  }
  return 0;
}

// The value at `offset`; the caller has checked that its bytes are there.
template <typename T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace leanstream::transformer
