#include "engine/transformer/kernels.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"

// No products are fused into sums (-ffp-contract=off) and the order of summation is the same for
// all instruction sets: so are the results, to the last bit.
//
// The bodies are inlined into one function for each instruction set, which is what lets the
// compiler use its vectors; a template over the number of lanes keeps them apart.
#define LEANSTREAM_INLINE inline __attribute__((always_inline))

namespace leanstream::transformer {
namespace {

using Index = std::int64_t;

// Partial sums of a dot product, on every machine: the order of summation is part of the result.
constexpr int kSums = 16;

template <int Lanes>
struct Vector {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};

constexpr Index kRowsOfSum = 48;  // summed by themselves first: one long f32 sum loses 5 bits
constexpr Index kCacheRows = 48;  // weight rows that stay in the second-level cache

// Σ of Parts vectors: upper half onto lower half until one number is left.
template <int Lanes, Index Parts>
LEANSTREAM_INLINE float sum_of(typename Vector<Lanes>::Type* v) {
  if constexpr (Parts > 1) {
    for (Index p = 0; p < Parts / 2; ++p) v[p] += v[p + Parts / 2];
    return sum_of<Lanes, Parts / 2>(v);
  } else if constexpr (Lanes > 4) {
    typename Vector<Lanes / 2>::Type halves[2];
    std::memcpy(halves, v, sizeof halves);
    return sum_of<Lanes / 2, 2>(halves);
  } else {
    float f[4];
    std::memcpy(f, v, sizeof f);
    return (f[0] + f[2]) + (f[1] + f[3]);
  }
}

template <int Lanes, Index T, Index O>
LEANSTREAM_INLINE void dot_tile(const float* x, Index x_stride, const float* w, Index w_stride,
                                Index inner, float* y, Index y_stride) {
  using V = typename Vector<Lanes>::Type;
  constexpr Index kParts = kSums / Lanes;
  V sums[T][O][kParts] = {};
  Index i = 0;
  for (; i + kSums <= inner; i += kSums) {
    for (Index p = 0; p < kParts; ++p) {
      V b[O];
      for (Index o = 0; o < O; ++o) std::memcpy(&b[o], w + o * w_stride + i + p * Lanes, sizeof(V));
      for (Index t = 0; t < T; ++t) {
        V a;
        std::memcpy(&a, x + t * x_stride + i + p * Lanes, sizeof(V));
        for (Index o = 0; o < O; ++o) sums[t][o][p] += a * b[o];
      }
    }
  }
  for (Index t = 0; t < T; ++t) {
    for (Index o = 0; o < O; ++o) {
      float sum = sum_of<Lanes, kParts>(sums[t][o]);
      for (Index k = i; k < inner; ++k) sum += x[t * x_stride + k] * w[o * w_stride + k];
      y[t * y_stride + o] = sum;
    }
  }
}

template <int Lanes, Index T, Index O>
LEANSTREAM_INLINE void dot_rows(const ConstRows& x, const ConstRows& w, const MutableRows& y,
                                Index t, Index first, Index last) {
  const float* from = x.data + t * x.stride;
  float* to = y.data + t * y.stride;
  Index o = first;
  for (; o + O <= last; o += O) {
    dot_tile<Lanes, T, O>(from, x.stride, w.data + o * w.stride, w.stride, x.columns, to + o,
                          y.stride);
  }
  for (; o < last; ++o) {
    dot_tile<Lanes, T, 1>(from, x.stride, w.data + o * w.stride, w.stride, x.columns, to + o,
                          y.stride);
  }
}

template <int Lanes, Index T, Index O>
LEANSTREAM_INLINE void multiply_transposed_with(const ConstRows& x, const ConstRows& w,
                                                const MutableRows& y) {
  for (Index first = 0; first < w.rows; first += kCacheRows) {
    const Index last = std::min(w.rows, first + kCacheRows);
    Index t = 0;
    for (; t + T <= x.rows; t += T) dot_rows<Lanes, T, O>(x, w, y, t, first, last);
    for (; t < x.rows; ++t) dot_rows<Lanes, 1, O>(x, w, y, t, first, last);
  }
}

// row(j) is where the j-th row of r starts.
template <int Lanes, Index T, Index O, typename Row>
LEANSTREAM_INLINE void product_tile(const float* c, Index c_stride, Index inner, const Row& row,
                                    float* y, Index y_stride) {
  using V = typename Vector<Lanes>::Type;
  V totals[T][O] = {};
  for (Index first = 0; first < inner; first += kRowsOfSum) {
    const Index last = std::min(inner, first + kRowsOfSum);
    V sums[T][O] = {};
    for (Index j = first; j < last; ++j) {
      const float* from = row(j);
      V b[O];
      for (Index o = 0; o < O; ++o) std::memcpy(&b[o], from + o * Lanes, sizeof(V));
      for (Index t = 0; t < T; ++t) {
        const float factor = c[t * c_stride + j];
        for (Index o = 0; o < O; ++o) sums[t][o] += factor * b[o];
      }
    }
    for (Index t = 0; t < T; ++t) {
      for (Index o = 0; o < O; ++o) totals[t][o] += sums[t][o];
    }
  }
  for (Index t = 0; t < T; ++t) {
    for (Index o = 0; o < O; ++o) {
      V value;
      float* to = y + t * y_stride + o * Lanes;
      std::memcpy(&value, to, sizeof(V));
      value += totals[t][o];
      std::memcpy(to, &value, sizeof(V));
    }
  }
}

// All tokens for O vectors of columns from column d on.
template <int Lanes, Index T, Index O, typename Row>
LEANSTREAM_INLINE void product_panel(const ConstRows& c, const Row& row, const MutableRows& y,
                                     Index d) {
  const auto at = [&](Index j) { return row(j) + d; };
  Index t = 0;
  for (; t + T <= c.rows; t += T) {
    product_tile<Lanes, T, O>(c.data + t * c.stride, c.stride, c.columns, at,
                              y.data + t * y.stride + d, y.stride);
  }
  for (; t < c.rows; ++t) {
    product_tile<Lanes, 1, O>(c.data + t * c.stride, c.stride, c.columns, at,
                              y.data + t * y.stride + d, y.stride);
  }
}

template <int Lanes, Index T, Index O, typename Row>
LEANSTREAM_INLINE void add_product_with(const ConstRows& c, const Row& row, const MutableRows& y) {
  Index d = 0;
  for (; d + O * Lanes <= y.columns; d += O * Lanes) {
    product_panel<Lanes, T, O>(c, row, y, d);
  }
  for (; d + Lanes <= y.columns; d += Lanes) product_panel<Lanes, T, 1>(c, row, y, d);
  for (; d < y.columns; ++d) product_panel<1, T, 1>(c, row, y, d);
}

struct EveryRow {
  const float* data;
  Index stride;
  LEANSTREAM_INLINE const float* operator()(Index j) const { return data + j * stride; }
};
struct ChosenRow {
  const float* data;
  Index stride;
  const std::int32_t* rows;
  LEANSTREAM_INLINE const float* operator()(Index j) const { return data + rows[j] * stride; }
};

// dot_t × dot_o and sum_t × sum_o: tokens by outputs of a tile, as many as the registers hold.
#define LEANSTREAM_KERNELS(suffix, attribute, lanes, dot_t, dot_o, sum_t, sum_o)                \
  attribute void dots_##suffix(const ConstRows& x, const ConstRows& w, const MutableRows& y) {  \
    multiply_transposed_with<lanes, dot_t, dot_o>(x, w, y);                                     \
  }                                                                                             \
  attribute void sums_##suffix(const ConstRows& c, const EveryRow& r, const MutableRows& y) {   \
    add_product_with<lanes, sum_t, sum_o>(c, r, y);                                             \
  }                                                                                             \
  attribute void picks_##suffix(const ConstRows& c, const ChosenRow& r, const MutableRows& y) { \
    add_product_with<lanes, sum_t, sum_o>(c, r, y);                                             \
  }

LEANSTREAM_KERNELS(base, , 4, 2, 1, 4, 2)
#if defined(__x86_64__)
LEANSTREAM_KERNELS(avx2, __attribute__((target("avx2"))), 8, 2, 2, 4, 2)
LEANSTREAM_KERNELS(avx512, __attribute__((target("avx512f,avx2"))), 16, 4, 4, 4, 3)
#endif

struct Kernels {
  decltype(&dots_base) dots = dots_base;
  decltype(&sums_base) sums = sums_base;
  decltype(&picks_base) picks = picks_base;
};

Kernels choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {dots_avx512, sums_avx512, picks_avx512};
  if (__builtin_cpu_supports("avx2")) return {dots_avx2, sums_avx2, picks_avx2};
#endif
  return {};
}

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace

void multiply_transposed(ConstRows x, ConstRows w, MutableRows y) {
  LEANSTREAM_CHECK(x.columns == w.columns && y.rows == x.rows && y.columns == w.rows,
                   "[{}, {}] by [{}, {}] into [{}, {}]", x.rows, x.columns, w.rows, w.columns,
                   y.rows, y.columns);
  kernels().dots(x, w, y);
}

void add_product(ConstRows c, ConstRows r, MutableRows y) {
  LEANSTREAM_CHECK(c.columns == r.rows && y.rows == c.rows && y.columns == r.columns,
                   "[{}, {}] by [{}, {}] into [{}, {}]", c.rows, c.columns, r.rows, r.columns,
                   y.rows, y.columns);
  kernels().sums(c, {r.data, r.stride}, y);
}

void add_chosen_rows(std::span<const float> c, std::span<const std::int32_t> rows, ConstRows r,
                     std::span<float> y) {
  LEANSTREAM_CHECK(c.size() == rows.size() && static_cast<Index>(y.size()) == r.columns,
                   "{} factors, {} rows", c.size(), rows.size());
  const auto count = static_cast<Index>(c.size());
  const auto width = static_cast<Index>(y.size());
  kernels().picks({c.data(), 1, count, count}, {r.data, r.stride, rows.data()},
                  {y.data(), 1, width, width});
}

}  // namespace leanstream::transformer
