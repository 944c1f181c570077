#include "engine/transformer/kernels.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"

// The bodies are inlined into one function for each instruction set, which is what lets the
// compiler use its vectors; a template over the number of lanes keeps them apart.
#define LEANSTREAM_INLINE inline __attribute__((always_inline))

namespace leanstream::transformer {
namespace {

using Index = std::int64_t;

template <int Lanes>
struct Vector {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};

constexpr Index kTokens = 4;      // tokens of a register tile
constexpr Index kOutputs = 3;     // vectors (or dot products) beside each other in a tile
constexpr Index kRowsOfSum = 32;  // summed by themselves first: one long f32 sum loses 5 bits
constexpr Index kCacheRows = 48;  // weight rows that stay in the second-level cache

template <int Lanes>
LEANSTREAM_INLINE float sum_of(const typename Vector<Lanes>::Type& v) {
  if constexpr (Lanes == 1) {
    return v[0];
  } else {
    typename Vector<Lanes / 2>::Type low, high;
    std::memcpy(&low, &v, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    low += high;
    return sum_of<Lanes / 2>(low);
  }
}

template <int Lanes, Index T, Index O>
LEANSTREAM_INLINE void dot_tile(const float* x, Index x_stride, const float* w, Index w_stride,
                                Index inner, float* y, Index y_stride) {
  using V = typename Vector<Lanes>::Type;
  V sums[T][O] = {};
  Index i = 0;
  for (; i + Lanes <= inner; i += Lanes) {
    V b[O];
    for (Index o = 0; o < O; ++o) std::memcpy(&b[o], w + o * w_stride + i, sizeof(V));
    for (Index t = 0; t < T; ++t) {
      V a;
      std::memcpy(&a, x + t * x_stride + i, sizeof(V));
      for (Index o = 0; o < O; ++o) sums[t][o] += a * b[o];
    }
  }
  for (Index t = 0; t < T; ++t) {
    for (Index o = 0; o < O; ++o) {
      float sum = sum_of<Lanes>(sums[t][o]);
      for (Index k = i; k < inner; ++k) sum += x[t * x_stride + k] * w[o * w_stride + k];
      y[t * y_stride + o] = sum;
    }
  }
}

template <int Lanes, Index T>
LEANSTREAM_INLINE void dot_rows(const ConstRows& x, const ConstRows& w, const MutableRows& y,
                                Index t, Index first, Index last) {
  const float* from = x.data + t * x.stride;
  float* to = y.data + t * y.stride;
  Index o = first;
  for (; o + kOutputs <= last; o += kOutputs) {
    dot_tile<Lanes, T, kOutputs>(from, x.stride, w.data + o * w.stride, w.stride, x.columns, to + o,
                                 y.stride);
  }
  for (; o < last; ++o) {
    dot_tile<Lanes, T, 1>(from, x.stride, w.data + o * w.stride, w.stride, x.columns, to + o,
                          y.stride);
  }
}

template <int Lanes>
LEANSTREAM_INLINE void multiply_transposed_with(const ConstRows& x, const ConstRows& w,
                                                const MutableRows& y) {
  for (Index first = 0; first < w.rows; first += kCacheRows) {
    const Index last = std::min(w.rows, first + kCacheRows);
    Index t = 0;
    for (; t + kTokens <= x.rows; t += kTokens) dot_rows<Lanes, kTokens>(x, w, y, t, first, last);
    for (; t < x.rows; ++t) dot_rows<Lanes, 1>(x, w, y, t, first, last);
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
template <int Lanes, Index O, typename Row>
LEANSTREAM_INLINE void product_panel(const ConstRows& c, const Row& row, const MutableRows& y,
                                     Index d) {
  const auto at = [&](Index j) { return row(j) + d; };
  Index t = 0;
  for (; t + kTokens <= c.rows; t += kTokens) {
    product_tile<Lanes, kTokens, O>(c.data + t * c.stride, c.stride, c.columns, at,
                                    y.data + t * y.stride + d, y.stride);
  }
  for (; t < c.rows; ++t) {
    product_tile<Lanes, 1, O>(c.data + t * c.stride, c.stride, c.columns, at,
                              y.data + t * y.stride + d, y.stride);
  }
}

template <int Lanes, typename Row>
LEANSTREAM_INLINE void add_product_with(const ConstRows& c, const Row& row, const MutableRows& y) {
  Index d = 0;
  for (; d + kOutputs * Lanes <= y.columns; d += kOutputs * Lanes) {
    product_panel<Lanes, kOutputs>(c, row, y, d);
  }
  for (; d + Lanes <= y.columns; d += Lanes) product_panel<Lanes, 1>(c, row, y, d);
  for (; d < y.columns; ++d) product_panel<1, 1>(c, row, y, d);
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

#define LEANSTREAM_KERNELS(suffix, lanes, attribute)                                            \
  attribute void dots_##suffix(const ConstRows& x, const ConstRows& w, const MutableRows& y) {  \
    multiply_transposed_with<lanes>(x, w, y);                                                   \
  }                                                                                             \
  attribute void sums_##suffix(const ConstRows& c, const EveryRow& r, const MutableRows& y) {   \
    add_product_with<lanes>(c, r, y);                                                           \
  }                                                                                             \
  attribute void picks_##suffix(const ConstRows& c, const ChosenRow& r, const MutableRows& y) { \
    add_product_with<lanes>(c, r, y);                                                           \
  }

LEANSTREAM_KERNELS(base, 4, )
#if defined(__x86_64__)
LEANSTREAM_KERNELS(avx2, 8, __attribute__((target("avx2,fma"))))
LEANSTREAM_KERNELS(avx512, 16, __attribute__((target("avx512f,avx2,fma"))))
#endif

struct Kernels {
  decltype(&dots_base) dots = dots_base;
  decltype(&sums_base) sums = sums_base;
  decltype(&picks_base) picks = picks_base;
};

Kernels choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {dots_avx512, sums_avx512, picks_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {dots_avx2, sums_avx2, picks_avx2};
  }
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
