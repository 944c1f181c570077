#include "engine/transformer/tensor_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"

namespace leanstream::transformer {
namespace {

constexpr std::size_t kHalfBlock = static_cast<std::size_t>(kBlockWeights) / 2;

float half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return half_to_float(bits);
}

void from_f32(const std::byte* block, float* out) {
  std::memcpy(out, block, sizeof(float));
}

void from_f16(const std::byte* block, float* out) {
  *out = half_at(block);
}

void from_bf16(const std::byte* block, float* out) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, block, sizeof bits);
  *out = std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// The low nibbles hold the first half of the block, the high nibbles the second.
void from_nibbles(const std::byte* nibbles, float scale, float offset, float* out) {
  for (std::size_t i = 0; i < kHalfBlock; ++i) {
    const auto byte = std::to_integer<int>(nibbles[i]);
    out[i] = scale * static_cast<float>(byte & 15) + offset;
    out[i + kHalfBlock] = scale * static_cast<float>(byte >> 4) + offset;
  }
}

void from_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  from_nibbles(block + 2, scale, -8.0F * scale, out);
}

void from_q4_1(const std::byte* block, float* out) {
  from_nibbles(block + 4, half_at(block), half_at(block + 2), out);
}

void from_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < 2 * kHalfBlock; ++i) {
    out[i] = scale * static_cast<float>(std::to_integer<std::int8_t>(block[i + 2]));
  }
}

constexpr std::array<TensorTypeInfo, 6> kTypes{{
    {TensorType::kF32, "F32", 1, 4, from_f32},
    {TensorType::kF16, "F16", 1, 2, from_f16},
    {TensorType::kQ4_0, "Q4_0", kBlockWeights, 18, from_q4_0},
    {TensorType::kQ4_1, "Q4_1", kBlockWeights, 20, from_q4_1},
    {TensorType::kQ8_0, "Q8_0", kBlockWeights, 34, from_q8_0},
    {TensorType::kBf16, "BF16", 1, 2, from_bf16},
}};

}  // namespace

const TensorTypeInfo* find_tensor_type(std::uint32_t number) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TensorTypeInfo& t) {
    return static_cast<std::uint32_t>(t.type) == number;
  });
  return found == kTypes.end() ? nullptr : found;
}

const TensorTypeInfo* find_tensor_type(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TensorTypeInfo& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

std::string_view tensor_type_names() {
  return "F32, F16, BF16, Q8_0, Q4_0, Q4_1";
}

void dequantise(TensorType type, std::span<const std::byte> row, std::span<float> out) {
  const TensorTypeInfo* info = find_tensor_type(static_cast<std::uint32_t>(type));
  LEANSTREAM_CHECK(info != nullptr, "tensor type {}", static_cast<std::uint32_t>(type));
  const auto weights = static_cast<std::size_t>(info->block_weights);
  LEANSTREAM_CHECK(
      out.size() % weights == 0 && row.size() == out.size() / weights * info->block_bytes,
      "{} bytes for {} weights of {}", row.size(), out.size(), info->name);
  for (std::size_t i = 0; i < out.size() / weights; ++i) {
    info->to_float(row.data() + i * info->block_bytes, out.data() + i * weights);
  }
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction · 2⁻²⁴
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {  // below 2⁻¹⁴: a multiple of 2⁻²⁴
    const float steps = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  const std::uint32_t odd = magnitude >> 13 & 1U;
  const std::uint32_t rounded = magnitude + 0xfffU + odd - (112U << 23);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

}  // namespace leanstream::transformer
