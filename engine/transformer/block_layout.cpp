#include "engine/transformer/block_layout.h"

#include "engine/base/check.h"

namespace leanstream::transformer {

std::size_t row_bytes(TensorType type, std::int64_t weights) {
  const TensorTypeInfo* info = find_tensor_type(static_cast<std::uint32_t>(type));
  LEANSTREAM_CHECK(info != nullptr && weights % info->block_weights == 0, "{} weights of a type",
                   weights);
  return static_cast<std::size_t>(weights / info->block_weights) * info->block_bytes;
}

std::size_t BlockLayout::gate_offset(std::int32_t neuron) const {
  return static_cast<std::size_t>(neuron) * row_bytes(gate, hidden);
}

std::size_t BlockLayout::up_offset(std::int32_t neuron) const {
  return gate_offset(block_neurons) + static_cast<std::size_t>(neuron) * row_bytes(up, hidden);
}

std::size_t BlockLayout::down_offset(std::int32_t neuron) const {
  return up_offset(block_neurons) + static_cast<std::size_t>(neuron) * row_bytes(down, hidden);
}

std::size_t BlockLayout::down_group_offset(std::int32_t output) const {
  return up_offset(block_neurons) +
         static_cast<std::size_t>(output) * row_bytes(down, block_neurons);
}

std::size_t BlockLayout::bytes() const {
  return down_in_groups ? down_group_offset(hidden) : down_offset(block_neurons);
}

}  // namespace leanstream::transformer
