#include <cmath>

#include "engine/transformer/layer_parts.h"
#include "engine/transformer/model.h"
#include "engine/transformer/tensor_loader.h"

namespace leanstream::transformer {

Model::Model(const GgufFile& file, int threads)
    : shape_(read_shape(file)), pool_(std::make_unique<ThreadPool>(threads)) {
  TensorLoader loader(file, *pool_);
  const auto& s = shape_;
  embedding_ = loader.matrix("token_embd.weight", s.vocab, s.hidden);
  if (loader.has("output.weight")) head_ = loader.matrix("output.weight", s.vocab, s.hidden);
  final_norm_ = loader.vector("output_norm.weight", s.hidden);
  for (LayerId l = 0; l < s.layers; ++l) {
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}.weight", l, part); };
    LayerWeights& w = layers_.emplace_back();
    w.attention_norm = loader.vector(name("attn_norm"), s.hidden);
    w.query = loader.matrix(name("attn_q"), s.query_size(), s.hidden);
    w.key = loader.matrix(name("attn_k"), s.kv_size(), s.hidden);
    w.value = loader.matrix(name("attn_v"), s.kv_size(), s.hidden);
    w.output = loader.matrix(name("attn_output"), s.hidden, s.query_size());
    w.mlp_norm = loader.vector(name("ffn_norm"), s.hidden);
    w.gate = loader.matrix(name("ffn_gate"), s.ffn, s.hidden);
    w.up = loader.matrix(name("ffn_up"), s.ffn, s.hidden);
    w.down = loader.transposed(name("ffn_down"), s.ffn, s.hidden);
    for (std::int64_t j = 0; j < s.ffn; ++j) {
      double squares = 0;
      for (const float v : w.down[j]) squares += double{v} * double{v};
      w.down_norm.push_back(static_cast<float>(std::sqrt(squares)));
    }
  }
  loader.refuse_unknown();
  rope_rates_ = rope_rates(s);
}

}  // namespace leanstream::transformer
