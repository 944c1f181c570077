// The two products that a transformer consists of, in f32, for one thread. Each output element is
// summed in an order that depends on the inner dimension alone: a token gives the same bits alone
// and in a batch, and all machines and compilers the same. The widest vectors of the machine are
// chosen at run time.
#pragma once

#include <cstdint>
#include <span>

namespace leanstream::transformer {

// Rows of f32 somewhere in memory: row i starts at data + i · stride.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;

  std::span<T> operator[](std::int64_t i) const {
    return {data + i * stride, static_cast<std::size_t>(columns)};
  }
  Rows rows_from(std::int64_t first, std::int64_t count) const {
    return {data + first * stride, count, columns, stride};
  }
  Rows columns_from(std::int64_t first, std::int64_t count) const {
    return {data + first, rows, count, stride};
  }
  operator Rows<const T>() const { return {data, rows, columns, stride}; }
};
using ConstRows = Rows<const float>;
using MutableRows = Rows<float>;

// y[t, o] = Σ_i x[t, i] · w[o, i];  x [n, inner], w [outputs, inner], y [n, outputs].
void multiply_transposed(ConstRows x, ConstRows w, MutableRows y);

// y[t, d] += Σ_j c[t, j] · r[j, d];  c [n, inner], r [inner, outputs], y [n, outputs].
void add_product(ConstRows c, ConstRows r, MutableRows y);

// y[d] += Σ_j c[j] · r[rows[j], d]: the same for one token and a choice of rows.
void add_chosen_rows(std::span<const float> c, std::span<const std::int32_t> rows, ConstRows r,
                     std::span<float> y);

}  // namespace leanstream::transformer
