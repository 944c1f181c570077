// A decoder-only transformer of GGUF architecture `llama`, by parts: whoever drives it decides
// which neurons of which layer are computed. Weights are dequantised to f32 when loaded (4 bytes a
// weight: 540 MB for 135 million). Activations are f32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/types.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/kv_cache.h"
#include "engine/transformer/matrix.h"
#include "engine/transformer/thread_pool.h"

namespace leanstream::transformer {

struct LlamaShape {
  std::int32_t layers = 0;
  std::int32_t hidden = 0;
  std::int32_t ffn = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;   // divides heads
  std::int32_t head_size = 0;  // even
  std::int32_t rope_size = 0;  // rotated part of a head, even
  std::int32_t vocab = 0;
  std::int32_t context = 0;  // tokens the model was trained for
  double rope_base = 0;
  double norm_epsilon = 0;

  std::int32_t query_size() const { return heads * head_size; }
  std::int32_t kv_size() const { return kv_heads * head_size; }
};

// Throws UserError when the file is of another architecture or a size is impossible.
LlamaShape read_shape(const GgufFile& file);

struct LayerWeights {
  std::vector<float> attention_norm;  // [hidden]
  Matrix query, key, value;           // [query_size | kv_size, hidden]
  Matrix output;                      // [hidden, query_size]
  std::vector<float> mlp_norm;        // [hidden]
  Matrix gate, up;                    // [ffn, hidden]
  Matrix down;                        // [ffn, hidden]: row j is column j of the down projection
  std::vector<float> down_norm;       // [ffn]: ‖down column‖₂
};

// In all parts a row is a token. One caller at a time: the parts share a thread pool.
class Model {
 public:
  // Throws UserError when a tensor is missing, of a wrong shape, not finite, or unknown (a model
  // with additional parts would compute something else than this code does).
  explicit Model(const GgufFile& file, int threads = ThreadPool::sensible_threads());

  const LlamaShape& shape() const { return shape_; }
  const LayerWeights& layer(LayerId l) const { return layers_[static_cast<std::size_t>(l)]; }
  ThreadPool& pool() const { return *pool_; }

  // x [n, hidden] becomes the embeddings of n ids, each in 0 … vocab − 1.
  void embed(std::span<const std::int32_t> ids, Matrix& x) const;

  // x += attention(norm(x)) for n tokens at positions cache.length() …; their keys and values are
  // put into the cache, whose length the caller advances after the last layer.
  void attend(LayerId l, KvCache& cache, Matrix& x) const;

  // input [n, hidden] = what the MLP of layer l sees: the normed residual.
  void mlp_input(LayerId l, const Matrix& x, Matrix& input) const;

  // h [n, ffn] = silu(gate · input) · (up · input) for all neurons.
  void gate_up(LayerId l, const Matrix& input, Matrix& h) const;

  // s [n, ffn] = |h|·‖down column‖₂.
  void importance(LayerId l, const Matrix& h, Matrix& s) const;

  // x [n, hidden] += Σ_j h[·, j] · down_j. A neuron that is not computed has h = 0.
  void add_down(LayerId l, const Matrix& h, Matrix& x) const;

  // One token, the listed neurons only: x += Σ_j silu(gate_j·input)·(up_j·input)·down_j.
  void add_mlp(LayerId l, std::span<const float> input, std::span<const std::int32_t> neurons,
               std::span<float> x) const;

  // logits [n, vocab] from the residual after the last layer: final norm and head.
  void head(const Matrix& x, Matrix& logits) const;

 private:
  void normalise(const Matrix& x, std::span<const float> weight, Matrix& out) const;
  void multiply(ConstRows x, const Matrix& weight, MutableRows y) const;

  LlamaShape shape_;
  std::unique_ptr<ThreadPool> pool_;
  Matrix embedding_;                // [vocab, hidden]
  Matrix head_;                     // [vocab, hidden]; empty when tied to the embedding
  std::vector<float> final_norm_;   // [hidden]
  std::vector<double> rope_rates_;  // [rope_size / 2]: radians a position
  std::vector<LayerWeights> layers_;
};

}  // namespace leanstream::transformer
