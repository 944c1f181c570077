#include "engine/transformer/image_layout.h"

#include <string>

#include "engine/base/error.h"

namespace leanstream::transformer {
namespace {

TensorType type_of(const model::FlashImage& image, const std::string& name) {
  const TensorTypeInfo* info = find_tensor_type(name);
  if (info == nullptr) {
    throw UserError("{}: weights of type '{}'; possible are {}", image.path(), name,
                    tensor_type_names());
  }
  return info->type;
}

std::string name_of(TensorType type) {
  return std::string(find_tensor_type(static_cast<std::uint32_t>(type))->name);
}

}  // namespace

BlockLayout image_layout(const model::FlashImage& image) {
  const model::FlashImageInfo& info = image.info();
  BlockLayout layout;
  layout.gate = type_of(image, info.weights.gate);
  layout.up = type_of(image, info.weights.up);
  layout.down = type_of(image, info.weights.down);
  layout.down_in_groups = info.weights.down_in_groups;
  layout.hidden = info.shape.hidden;
  layout.block_neurons = info.geometry.block_neurons;
  const auto fits = [](TensorType type, std::int32_t weights) {
    return weights % find_tensor_type(static_cast<std::uint32_t>(type))->block_weights == 0;
  };
  const std::int32_t down_weights = layout.down_in_groups ? layout.block_neurons : layout.hidden;
  if (!fits(layout.gate, layout.hidden) || !fits(layout.up, layout.hidden) ||
      !fits(layout.down, down_weights) ||
      static_cast<double>(layout.bytes()) != info.geometry.useful_block_bytes) {
    throw UserError("{}: blocks of {} neurons of {} weights, {} {} {}{}, cannot have {} bytes",
                    image.path(), layout.block_neurons, layout.hidden, info.weights.gate,
                    info.weights.up, info.weights.down, layout.down_in_groups ? " in groups" : "",
                    info.geometry.useful_block_bytes);
  }
  return layout;
}

model::StoredWeights stored_weights(const BlockLayout& layout) {
  return {name_of(layout.gate), name_of(layout.up), name_of(layout.down), layout.down_in_groups,
          ""};
}

}  // namespace leanstream::transformer
