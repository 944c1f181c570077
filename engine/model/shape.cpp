#include "engine/model/shape.h"

#include <cmath>

#include "engine/base/check.h"

namespace leanstream::model {

BlockGeometry cut_into_blocks(const ModelShape& shape, std::int32_t block_neurons,
                              Bytes logical_block_bytes) {
  LEANSTREAM_CHECK(block_neurons >= 1 && block_neurons <= shape.ffn, "blocks of {} of {} neurons",
                   block_neurons, shape.ffn);
  LEANSTREAM_CHECK(logical_block_bytes >= 1, "logical block of 0 bytes");
  BlockGeometry g;
  g.block_neurons = block_neurons;
  g.ffn = shape.ffn;
  g.blocks_per_layer = (shape.ffn + block_neurons - 1) / block_neurons;
  g.useful_block_bytes = shape.bundle_bytes() * block_neurons;
  const auto exact = static_cast<Bytes>(std::ceil(g.useful_block_bytes));
  g.block_bytes = (exact + logical_block_bytes - 1) / logical_block_bytes * logical_block_bytes;
  return g;
}

}  // namespace leanstream::model
