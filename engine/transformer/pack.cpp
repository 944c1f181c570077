#include "engine/transformer/pack.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::transformer {
namespace {

const TensorTypeInfo& info_of(TensorType type) {
  const TensorTypeInfo* info = find_tensor_type(static_cast<std::uint32_t>(type));
  LEANSTREAM_CHECK(info != nullptr, "tensor type {}", static_cast<std::uint32_t>(type));
  return *info;
}

bool in_groups_only(TensorType type) {
  return info_of(type).block_weights > 1;
}

TensorType type_of(const GgufFile& file, const LlamaShape& shape, StoreAs as, const char* part,
                   std::int64_t rows, std::int64_t row_length) {
  const GgufTensor* first = nullptr;
  for (LayerId l = 0; l < shape.layers; ++l) {
    const GgufTensor& tensor = file.tensor(fmt::format("blk.{}.{}.weight", l, part));
    if (tensor.rows() != rows || tensor.row_length() != row_length) {
      throw UserError("{}: tensor '{}' has {} rows of {}, the metadata says {} of {}", file.path(),
                      tensor.name, tensor.rows(), tensor.row_length(), rows, row_length);
    }
    if (first == nullptr) first = &tensor;
    if (as == StoreAs::as_is && tensor.type != first->type) {
      throw UserError(
          "{}: tensor '{}' is {}, '{}' is {}: an image has one type for all layers; store the "
          "weights as q8_0 or f16",
          file.path(), first->name, info_of(first->type).name, tensor.name,
          info_of(tensor.type).name);
    }
  }
  return first->type;
}

}  // namespace

MlpTypes mlp_types(const GgufFile& file, const LlamaShape& shape, StoreAs as) {
  return {type_of(file, shape, as, "ffn_gate", shape.ffn, shape.hidden),
          type_of(file, shape, as, "ffn_up", shape.ffn, shape.hidden),
          type_of(file, shape, as, "ffn_down", shape.hidden, shape.ffn)};
}

BlockLayout packed_layout(const MlpTypes& types, StoreAs as, std::int32_t hidden, std::int32_t k,
                          bool own_order) {
  BlockLayout layout{types.gate, types.up, types.down, false, hidden, k};
  if (as == StoreAs::as_is) {
    if (!in_groups_only(types.down)) return layout;
    layout.down_in_groups = own_order && k % kBlockWeights == 0;
    if (!layout.down_in_groups) layout.down = TensorType::kF32;
    return layout;
  }
  const TensorType type = as == StoreAs::f16 ? TensorType::kF16 : TensorType::kQ8_0;
  if (hidden % info_of(type).block_weights != 0) {
    throw UserError("rows of {} weights cannot be stored as {}, whose groups are of {}", hidden,
                    info_of(type).name, kBlockWeights);
  }
  layout.gate = layout.up = layout.down = type;
  return layout;
}

std::string layout_note(const MlpTypes& types, const BlockLayout& layout, StoreAs as) {
  if (layout.gate != types.gate || layout.up != types.up ||
      (as != StoreAs::as_is && layout.down != types.down)) {
    return fmt::format("stored as {} as asked for; the model has gate {}, up {}, down {}",
                       info_of(layout.down).name, info_of(types.gate).name, info_of(types.up).name,
                       info_of(types.down).name);
  }
  if (layout.down == types.down) return "";
  return fmt::format(
      "down columns are stored as {}, not {}: its scales are those of {} neighbouring neurons, "
      "which "
      "only blocks of a multiple of {} neurons in the model's own order keep together",
      info_of(layout.down).name, info_of(types.down).name, kBlockWeights, kBlockWeights);
}

void write_blocks(BlockSource& source, model::FlashImageWriter& writer,
                  const std::function<void(LayerId)>& layer_done) {
  const model::FlashImageInfo& info = writer.info();
  std::vector<std::byte> block(info.geometry.block_bytes);
  std::vector<std::int32_t> scratch;
  for (LayerId l = 0; l < info.shape.layers; ++l) {
    source.begin_layer(l);
    for (BlockId b = 0; b < info.geometry.blocks_per_layer; ++b) {
      std::fill(block.begin(), block.end(), std::byte{0});
      source.write(info.neurons(l, b, scratch), block);
      writer.append(block);
    }
    layer_done(l + 1);
  }
  writer.commit();
}

}  // namespace leanstream::transformer
