// The shape of a decoder-only transformer with a gated MLP, and how its MLPs are cut into blocks.
#pragma once

#include <optional>
#include <string>

#include "engine/base/types.h"

namespace leanstream::model {

struct ModelShape {
  std::string name;
  std::int32_t layers = 0;
  std::int32_t hidden = 0;
  std::int32_t ffn = 0;  // neurons of one MLP
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t vocab = 0;
  bool tied_embeddings = false;                       // the head reuses the embedding table
  double bytes_per_weight = 2.0;                      // f16
  std::optional<double> resident_bytes_per_weight{};  // of what is no MLP; absent: the same

  std::int32_t head_dim() const { return hidden / heads; }
  // gate row, up row and down column of one neuron, stored together.
  double bundle_bytes() const { return 3.0 * hidden * bytes_per_weight; }
  double layer_mlp_bytes() const { return bundle_bytes() * ffn; }
  double mlp_bytes() const { return layer_mlp_bytes() * layers; }
  // Q, K, V and O of one layer.
  double layer_attention_weights() const {
    return 2.0 * hidden * hidden + 2.0 * hidden * kv_heads * head_dim();
  }
  double layer_attention_bytes() const {
    return layer_attention_weights() * resident_bytes_per_weight.value_or(bytes_per_weight);
  }
  double head_bytes() const {
    return static_cast<double>(vocab) * hidden *
           resident_bytes_per_weight.value_or(bytes_per_weight);
  }
  // Everything that stays in memory: attention, embedding, head (once when tied).
  double resident_bytes() const {
    return layer_attention_bytes() * layers + head_bytes() * (tied_embeddings ? 1 : 2);
  }
  double model_bytes() const { return mlp_bytes() + resident_bytes(); }
  // Keys and values of one token over all layers, in f16.
  double kv_bytes_per_token() const { return 2.0 * layers * kv_heads * head_dim() * 2.0; }
};

// How one layer's neurons are cut into blocks of k bundles that are neighbours in flash order.
struct BlockGeometry {
  std::int32_t block_neurons = 1;  // k
  BlockId blocks_per_layer = 0;    // ⌈ffn ÷ k⌉; the last block may be short
  Bytes block_bytes = 0;           // k bundles padded to the device's logical block size
  double useful_block_bytes = 0;   // without the padding
  std::int32_t ffn = 0;

  // First neuron and number of neurons of a block, in flash order.
  std::int32_t first_neuron(BlockId b) const { return b * block_neurons; }
  std::int32_t neurons(BlockId b) const {
    const std::int32_t left = ffn - first_neuron(b);
    return left < block_neurons ? left : block_neurons;
  }
};

// The cut of `ffn` neurons into blocks of block_neurons ≥ 1, useful_block_bytes of weights each;
// logical_block_bytes ≥ 1 (a power of two on real devices).
BlockGeometry cut_into_blocks(std::int32_t ffn, std::int32_t block_neurons,
                              double useful_block_bytes, Bytes logical_block_bytes);

// The same where every weight takes shape.bytes_per_weight.
BlockGeometry cut_into_blocks(const ModelShape& shape, std::int32_t block_neurons,
                              Bytes logical_block_bytes);

}  // namespace leanstream::model
