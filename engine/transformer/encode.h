// f32 to weights as they are stored: the way back from dequantise().
#pragma once

#include <cstddef>
#include <span>

#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {

// f32, f16 and bf16 by rounding to nearest even; q8_0 by ggml's rule (quantize_row_q8_0_ref):
// d = max|w| ÷ 127, q = w ÷ d rounded, halves away from zero, then d as f16. Other types are our
// bug. out.size() is what the type needs for weights.size() weights. False when a weight is too
// large for the type, or not finite.
bool encode(TensorType type, std::span<const float> weights, std::span<std::byte> out);

}  // namespace leanstream::transformer
