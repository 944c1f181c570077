// The products that block_kernel.h consists of, one thread, without checks. Each result is summed
// in an order that depends on the inner size alone: a token, a row or a column gives the same bits
// alone and among others, and the same on all machines that have fused multiply-add.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/transformer/kernels.h"
#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {

// Rows that are used together, at most.
inline constexpr std::size_t kTileRows = 4;

// How many bytes ahead of its use memory is fetched where rows are `stride` bytes apart: what hides
// its latency, and no less than the rows that are used together.
inline std::size_t fetched_ahead(std::size_t stride) {
  return std::max(std::size_t{8192}, kTileRows * stride);
}

// Rows of weights as stored, `stride` bytes apart; nothing is aligned.
struct StoredRows {
  TensorType type;
  const std::byte* data;
  std::size_t stride;
  const std::byte* end;             // what lies behind the rows up to here is used next
  std::size_t ahead = 0;            // fetched before it is used
  const std::byte* next = nullptr;  // as many bytes or more that are used after `end`
};

// y[t, r] = Σ_i x[t, i] · w[r, i] for y.columns rows.
void multiply(const StoredRows& w, ConstRows x, MutableRows y);

// y[t, r] += the same.
void add_multiplied(const StoredRows& w, ConstRows x, MutableRows y);

// y[t, i] += Σ_j c[t, j] · w[j, i] for c.columns rows, one after the other.
void add_columns(const StoredRows& w, ConstRows c, MutableRows y);

// out[r] = Σ_i w[r, i]² over `columns` weights, for out.size() rows.
void square_rows(const StoredRows& w, std::int64_t columns, std::span<float> out);

// out[i] = Σ_r w[r, i]² over `rows` rows of whole groups of 32 weights.
void square_columns(const StoredRows& w, std::int64_t rows, std::span<float> out);

}  // namespace leanstream::transformer
