#include "engine/transformer/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "engine/base/check.h"

namespace leanstream::transformer {
namespace {

constexpr std::uint16_t kInfiniteHalf = 0x7c00;

bool finite_half(std::uint16_t half) {
  return (half & kInfiniteHalf) != kInfiniteHalf;
}

std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

template <typename T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

bool encode_q8_0(std::span<const float> weights, std::byte* at) {
  float most = 0;
  for (const float w : weights) most = std::max(most, std::abs(w));
  const float scale = most / 127.0F;
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  const std::uint16_t half = float_to_half(scale);
  put(at, half);
  for (const float w : weights) put(at, static_cast<std::int8_t>(std::round(w * inverse)));
  return finite_half(half);
}

}  // namespace

bool encode(TensorType type, std::span<const float> weights, std::span<std::byte> out) {
  const TensorTypeInfo* info = find_tensor_type(static_cast<std::uint32_t>(type));
  LEANSTREAM_CHECK(info != nullptr && out.size() * static_cast<std::size_t>(info->block_weights) ==
                                          weights.size() * info->block_bytes,
                   "{} bytes for {} weights", out.size(), weights.size());
  for (const float w : weights) {
    if (!std::isfinite(w)) return false;
  }
  std::byte* at = out.data();
  bool fits = true;
  switch (type) {
    case TensorType::kF32:
      std::memcpy(at, weights.data(), weights.size_bytes());
      return true;
    case TensorType::kF16:
      for (const float w : weights) {
        const std::uint16_t half = float_to_half(w);
        fits = fits && finite_half(half);
        put(at, half);
      }
      return fits;
    case TensorType::kBf16:
      for (const float w : weights) {
        const std::uint16_t half = float_to_bf16(w);
        fits = fits && (half & 0x7f80U) != 0x7f80U;
        put(at, half);
      }
      return fits;
    case TensorType::kQ8_0:
      for (std::size_t i = 0; i < weights.size(); i += kBlockWeights) {
        fits = encode_q8_0(weights.subspan(i, kBlockWeights),
                           at + i / kBlockWeights * info->block_bytes) &&
               fits;
      }
      return fits;
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
      break;
  }
  LEANSTREAM_CHECK(false, "nothing is encoded as {}", info->name);
}

}  // namespace leanstream::transformer
