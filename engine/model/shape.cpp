#include "engine/model/shape.h"

#include <cmath>

#include "engine/base/check.h"

namespace leanstream::model {

BlockGeometry cut_into_blocks(std::int32_t ffn, std::int32_t block_neurons,
                              double useful_block_bytes, Bytes logical_block_bytes) {
  LEANSTREAM_CHECK(block_neurons >= 1 && block_neurons <= ffn, "blocks of {} of {} neurons",
                   block_neurons, ffn);
  LEANSTREAM_CHECK(logical_block_bytes >= 1, "logical block of 0 bytes");
  BlockGeometry g;
  g.block_neurons = block_neurons;
  g.ffn = ffn;
  g.blocks_per_layer = (ffn + block_neurons - 1) / block_neurons;
  g.useful_block_bytes = useful_block_bytes;
  const auto exact = static_cast<Bytes>(std::ceil(useful_block_bytes));
  g.block_bytes = (exact + logical_block_bytes - 1) / logical_block_bytes * logical_block_bytes;
  return g;
}

BlockGeometry cut_into_blocks(const ModelShape& shape, std::int32_t block_neurons,
                              Bytes logical_block_bytes) {
  return cut_into_blocks(shape.ffn, block_neurons, shape.bundle_bytes() * block_neurons,
                         logical_block_bytes);
}

}  // namespace leanstream::model
