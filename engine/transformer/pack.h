// The MLP weights of a model as the blocks of a flash image: from a GGUF file, or random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/base/types.h"
#include "engine/model/flash_image.h"
#include "engine/transformer/block_layout.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {

enum class StoreAs { as_is, f16, q8_0 };

struct MlpTypes {
  TensorType gate = TensorType::kF16;
  TensorType up = TensorType::kF16;
  TensorType down = TensorType::kF16;
};

// The types of a model's MLPs. Throws UserError when a matrix is missing or of a wrong shape and,
// for as_is, when its type is not the same in all layers.
MlpTypes mlp_types(const GgufFile& file, const LlamaShape& shape, StoreAs as);

// How blocks of k neurons are stored. as_is keeps the types where that is possible: rows always; a
// down matrix that is no mere list of numbers only when a block holds whole groups of kBlockWeights
// neighbours of the model's own order, else its columns become f32, which holds every stored value
// exactly. Throws UserError when q8_0 does not divide `hidden`.
BlockLayout packed_layout(const MlpTypes& types, StoreAs as, std::int32_t hidden, std::int32_t k,
                          bool own_order);

// Why the layout's types are not the model's, in a sentence; empty when they are.
std::string layout_note(const MlpTypes& types, const BlockLayout& layout, StoreAs as);

class BlockSource {
 public:
  virtual ~BlockSource() = default;

  // The next blocks are of this layer. Throws UserError when a weight is not finite, or too large
  // for its new type.
  virtual void begin_layer(LayerId layer) = 0;

  // The block of these neurons (at most k, in flash order) into zeroed memory of layout.bytes() or
  // more. Throws as above.
  virtual void write(std::span<const std::int32_t> neurons, std::span<std::byte> block) = 0;
};

// The file must outlive the source. Down columns of one layer are held in memory.
std::unique_ptr<BlockSource> gguf_blocks(const GgufFile& file, const LlamaShape& shape,
                                         const BlockLayout& layout);

// Seeded weights, f16 or q8_0, of standard deviation 1/√hidden (gate, up) and 1/√ffn (down). Those
// of a neuron do not depend on order and block size.
std::unique_ptr<BlockSource> random_blocks(const BlockLayout& layout, std::int32_t ffn,
                                           std::uint64_t seed);

// All blocks of an image, then commits it. Calls layer_done with the number of layers written.
void write_blocks(BlockSource& source, model::FlashImageWriter& writer,
                  const std::function<void(LayerId)>& layer_done);

}  // namespace leanstream::transformer
