#include "platforms/probe/shape_costs.h"

#include <cmath>

#include "engine/model/shape.h"

namespace leanstream::probe {
namespace {

constexpr double kResidentBytes = 34.0 / 32;  // of a weight in q8_0
constexpr double kBlockBytes = 2;             // of a weight in f16

double weights_of_attention(const Shape& shape) {
  const double kv = static_cast<double>(shape.hidden) / shape.heads * shape.kv_heads;
  return 2.0 * shape.hidden * shape.hidden + 2.0 * shape.hidden * kv;
}

}  // namespace

double attention_bytes(const Shape& shape) {
  return weights_of_attention(shape) * kResidentBytes;
}

double head_bytes(const Shape& shape) {
  return static_cast<double>(shape.vocab) * shape.hidden * kResidentBytes;
}

double attention_rows(const Shape& shape) {
  return weights_of_attention(shape) / shape.hidden;
}

double mlp_bytes(const Shape& shape, double neurons) {
  return 3.0 * shape.hidden * neurons * kBlockBytes;
}

double attention_operations(const Shape& shape, std::int32_t tokens) {
  return 2.0 * weights_of_attention(shape) * tokens + 4.0 * shape.hidden * tokens * tokens;
}

double mlp_operations(const Shape& shape, double neurons, std::int32_t tokens) {
  return 6.0 * shape.hidden * neurons * tokens;
}

double blocks_of(const Shape& shape, double share) {
  const auto geometry = model::cut_into_blocks(shape.ffn, shape.block_neurons, 1, 1);
  return static_cast<double>(std::lround(share * geometry.blocks_per_layer));
}

double neurons_of(const Shape& shape, double share) {
  return blocks_of(shape, share) * shape.block_neurons;
}

}  // namespace leanstream::probe
