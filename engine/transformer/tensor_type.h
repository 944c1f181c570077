// How weights are stored in GGUF files, and how a row of them becomes f32. Layouts: ggml,
// src/ggml-common.h; a block holds kBlockWeights neighbouring weights of one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace leanstream::transformer {

// Numbered as in the file.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,  // f16 scale d, 32 × 4 bits: w = d·(q − 8)
  kQ4_1 = 3,  // f16 scale d, f16 minimum m, 32 × 4 bits: w = d·q + m
  kQ8_0 = 8,  // f16 scale d, 32 × i8: w = d·q
  kBf16 = 30,
};

inline constexpr std::int64_t kBlockWeights = 32;

struct TensorTypeInfo {
  TensorType type;
  std::string_view name;
  std::int64_t block_weights;  // a row is a multiple of this many weights
  std::size_t block_bytes;
  void (*to_float)(const std::byte* block, float* out);  // one block
};

// nullptr for a number or name that is no supported type.
const TensorTypeInfo* find_tensor_type(std::uint32_t number);
const TensorTypeInfo* find_tensor_type(std::string_view name);
// The names of all supported types, for messages.
std::string_view tensor_type_names();

// A row as f32. row.size() is what the type needs for out.size() weights.
void dequantise(TensorType type, std::span<const std::byte> row, std::span<float> out);

// IEEE 754 binary16.
float half_to_float(std::uint16_t half);
// Rounds to nearest even; too large becomes infinity.
std::uint16_t float_to_half(float value);

}  // namespace leanstream::transformer
