// What of a pass of n tokens through a Decoder is not its MLPs, in parts that threads can share. In
// all parts a row is a token. A result has the same bits however a part is split.
#pragma once

#include <cstdint>
#include <span>

#include "engine/transformer/decoder.h"
#include "engine/transformer/kv_cache.h"
#include "engine/transformer/layer_parts.h"

namespace leanstream::transformer {

// x [n, hidden] = the embeddings of n ids, each in 0 … vocab − 1.
void embed(const Decoder& decoder, std::span<const std::int32_t> ids, MutableRows x);

// input [n, hidden] = what the MLP of layer l sees: the normed residual.
void mlp_input(const Decoder& decoder, LayerId l, ConstRows x, MutableRows input);

// normed [n, hidden] = what the head sees of the residual after the last layer.
void head_input(const Decoder& decoder, ConstRows x, MutableRows normed);

// Columns first … first + count − 1 of logits [n, vocab].
void head_logits(const Decoder& decoder, ConstRows normed, std::int64_t first, std::int64_t count,
                 MutableRows logits);

// x += attention(norm(x)) of one layer in five parts, to be called in this order. Those with a
// range may be split: any thread, any order, but all of it ends before the next part begins.
class AttentionPass {
 public:
  explicit AttentionPass(const Decoder& decoder) : decoder_(decoder) {}

  // x of n tokens at positions cache.length() …, whose keys and values are put into the cache; its
  // length the caller advances after the last layer.
  void begin(LayerId l, KvCache& cache, ConstRows x);

  // Rows of the query, key and value matrices, one after the other.
  std::int64_t projected_rows() const;
  void project(std::int64_t first, std::int64_t count);

  void rotate();

  void attend(std::int32_t first_head, std::int32_t count);

  // Columns first … first + count − 1 of x [n, hidden].
  void add_output(std::int64_t first, std::int64_t count, MutableRows x) const;

  // All five by this thread.
  void run(LayerId l, KvCache& cache, MutableRows x);

 private:
  const DecoderLayer& layer() const { return decoder_.layers[static_cast<std::size_t>(layer_)]; }

  const Decoder& decoder_;
  LayerId layer_ = 0;
  KvCache* cache_ = nullptr;
  std::int64_t first_ = 0;  // position of the first token
  Rotation rotation_;
  Matrix normed_;          // [n, hidden]
  Matrix query_, joined_;  // [n, query_size]
};

}  // namespace leanstream::transformer
