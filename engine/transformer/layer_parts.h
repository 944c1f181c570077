// What every way to run a layer computes in f32, whatever its weights are stored as.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/transformer/matrix.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {

inline float silu(float v) {
  return v / (1.0F + std::exp(-v));
}

// to[t] = x[t] ÷ √(mean square + epsilon) · weight.
void normalise(ConstRows x, std::span<const float> weight, double epsilon, MutableRows to);

// Radians a position of each rotated pair of a head.
std::vector<double> rope_rates(const LlamaShape& shape);

// Rotary embedding (Su et al., arXiv:2104.09864, eq. 34) of neighbouring pairs (2i, 2i + 1), the
// order in which GGUF files of this architecture store query and key.
class Rotation {
 public:
  Rotation() = default;
  // Of `count` tokens at positions first ….
  Rotation(std::span<const double> rates, std::int64_t first, std::int64_t count);

  bool is_of(std::int64_t first, std::int64_t count) const {
    return first == first_ && count == cosines_.rows();
  }
  // Rows of heads of head_size each; row t is token t of them.
  void apply(MutableRows rows, std::int32_t head_size) const;

 private:
  std::int64_t first_ = 0;
  Matrix cosines_, sines_;  // [count, rates]
};

// Attention of one head for a few tokens at positions first …, causal: query and out [n,
// query_size], keys and values of all positions [≥ first + n, kv_size]. Writes the head's columns
// of `out`.
void attend_head(const LlamaShape& shape, std::int32_t head, std::int64_t first, ConstRows query,
                 ConstRows keys, ConstRows values, MutableRows out);

}  // namespace leanstream::transformer
