#include "engine/transformer/stored_kernels.h"

#include <algorithm>

// As in engine/base/vector_scan.cpp. What has vectors of unknown length has others as well; SSE4
// has nothing over SSSE3 here that would be worth the time to compile it.
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/transformer/stored_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include "engine/transformer/weight_vectors.h"

// Every result is 16 sums, of weights i, i + 16, …, fused multiply-adds where the machine has them;
// then neighbours in fours, then the fours. So a result has the same bits in any tile, batch or
// share of rows. What is no whole group of 32 weights is padded with zeros.
HWY_BEFORE_NAMESPACE();
namespace leanstream::transformer {
namespace HWY_NAMESPACE {
namespace {

using Index = std::int64_t;

constexpr std::size_t kSums = 16 / kLanes;  // vectors of partial sums of one result
// Tokens × rows of a tile, as many as the registers hold.
constexpr Index kTokens = kLanes == 16 ? 4 : 2;
constexpr Index kTokenRows = 2;        // with kTokens
constexpr Index kRows = kTileRows;     // with one token
constexpr Index kColumns = kTileRows;  // of a tile of add_columns

// A few neighbouring rows.
template <Index R>
struct Tile {
  const std::uint8_t* data;
  std::size_t stride;
  std::uintptr_t fetched[R];  // what is fetched while row r is used, from `data` on

  HWY_INLINE const std::uint8_t* row(Index r) const {
    return data + static_cast<std::size_t>(r) * stride;
  }
  HWY_INLINE void fetch(Index r) const {
    hwy::Prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(data) + fetched[r]));
  }
};

// Several rows at a time, not aligned, are more than processors fetch by themselves: while a row is
// used, the one w.ahead bytes behind it is fetched, or its place in what is used after w.end.
template <Index R>
HWY_INLINE Tile<R> tile_at(const StoredRows& w, Index row) {
  const std::byte* from = w.data + static_cast<std::size_t>(row) * w.stride;
  Tile<R> tile{reinterpret_cast<const std::uint8_t*>(from), w.stride, {}};
  const std::byte* at = from;
  for (Index r = 0; r < R; ++r, at += w.stride) {
    const auto left = static_cast<std::size_t>(w.end - at);
    const std::byte* then = w.ahead < left      ? at + w.ahead
                            : w.next != nullptr ? w.next + (w.ahead - left)
                                                : at;
    tile.fetched[r] =
        reinterpret_cast<std::uintptr_t>(then) - reinterpret_cast<std::uintptr_t>(from);
  }
  return tile;
}

// The fours of lanes added up, upper half onto lower half.
template <typename D>
HWY_INLINE void store_fours(D d, hn::Vec<D> v, float* out) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    store_fours(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
  } else {
    hn::StoreU(v, d, out);
  }
}

// Σ of the 16 sums of each of four results.
HWY_INLINE void store_sums(const Vector (&v)[4][kSums], float* out) {
  const Floats d;
  const hn::RepartitionToWide<Floats> pairs;
  Vector four[kSums];  // each group of 4 lanes: its sum for results 0, 1, 2, 3
  for (std::size_t s = 0; s < kSums; ++s) {
    const auto ab =
        hn::Add(hn::InterleaveLower(d, v[0][s], v[1][s]), hn::InterleaveUpper(d, v[0][s], v[1][s]));
    const auto ce =
        hn::Add(hn::InterleaveLower(d, v[2][s], v[3][s]), hn::InterleaveUpper(d, v[2][s], v[3][s]));
    const auto left = hn::BitCast(pairs, ab), right = hn::BitCast(pairs, ce);
    four[s] = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, left, right)),
                      hn::BitCast(d, hn::InterleaveUpper(pairs, left, right)));
  }
  for (std::size_t n = kSums / 2; n > 0; n /= 2) {
    for (std::size_t s = 0; s < n; ++s) four[s] = hn::Add(four[s], four[s + n]);
  }
  store_fours(d, four[0], out);
}

// sums[t][r] += 32 products.
template <typename W, Index T, Index R>
HWY_INLINE void add_dots(const Tile<R>& rows, const float* x, Index x_stride,
                         Vector (&sums)[T][R][kSums]) {
  Vector w[R][kParts];
  for (Index r = 0; r < R; ++r) W::decode(rows.row(r), w[r]);
  for (Index t = 0; t < T; ++t) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const Vector v = hn::LoadU(Floats(), x + t * x_stride + p * kLanes);
      for (Index r = 0; r < R; ++r) {
        sums[t][r][p % kSums] = hn::MulAdd(w[r][p], v, sums[t][r][p % kSums]);
      }
    }
  }
}

// out[t · R + r] = Σ_i x[t, i] · w[r, i] for R rows. `out` has room for a multiple
// of four.
template <typename W, Index T, Index R>
HWY_INLINE void dot_tile(Tile<R> rows, const float* x, Index x_stride, Index columns, float* out) {
  Vector sums[T][R][kSums];
  for (Index t = 0; t < T; ++t) {
    for (Index r = 0; r < R; ++r) {
      for (auto& s : sums[t][r]) s = hn::Zero(Floats());
    }
  }
  constexpr auto kGroupBytes = kGroup / W::kWeights * W::kBytes;
  const auto width = static_cast<std::size_t>(columns);
  std::size_t i = 0;
  for (; i + kGroup <= width; i += kGroup, rows.data += kGroupBytes) {
    for (Index r = 0; r < R; ++r) rows.fetch(r);
    add_dots<W, T, R>(rows, x + i, x_stride, sums);
  }
  if (i < width) {
    std::uint8_t bytes[R * kGroupBytes] = {};
    float rest[T * kGroup] = {};
    for (Index r = 0; r < R; ++r) {
      std::memcpy(bytes + static_cast<std::size_t>(r) * kGroupBytes, rows.row(r),
                  (width - i) * W::kBytes);
    }
    for (Index t = 0; t < T; ++t) {
      std::copy_n(x + t * x_stride + i, width - i, rest + static_cast<std::size_t>(t) * kGroup);
    }
    add_dots<W, T, R>({bytes, kGroupBytes, {}}, rest, kGroup, sums);
  }
  Vector fours[4][kSums];
  for (Index first = 0; first < T * R; first += 4) {
    for (Index j = 0; j < 4; ++j) {
      const Index at = std::min(first + j, T * R - 1);
      for (std::size_t s = 0; s < kSums; ++s) fours[j][s] = sums[at / R][at % R][s];
    }
    store_sums(fours, out + first);
  }
}

// y[i] = sums[i], or += it.
template <Index N>
HWY_INLINE void put(bool add, const float* HWY_RESTRICT sums, float* HWY_RESTRICT y) {
  if (add) {
    for (Index i = 0; i < N; ++i) y[i] += sums[i];
  } else {
    for (Index i = 0; i < N; ++i) y[i] = sums[i];
  }
}

// All tokens of x and R rows from `row` on.
template <typename W, Index R>
HWY_INLINE void multiply_few(bool add, const StoredRows& w, Index row, const ConstRows& x,
                             const MutableRows& y) {
  constexpr Index kTile = R == 1 ? 1 : kTokenRows;
  float* to = y.data + row;
  Index t = 0;
  for (; t + kTokens <= x.rows; t += kTokens) {
    const float* from = x.data + t * x.stride;
    for (Index r = 0; r < R; r += kTile) {
      float out[(kTokens * kTile + 3) / 4 * 4];
      dot_tile<W, kTokens, kTile>(tile_at<kTile>(w, row + r), from, x.stride, x.columns, out);
      for (Index k = 0; k < kTokens; ++k) {
        put<kTile>(add, out + k * kTile, to + (t + k) * y.stride + r);
      }
    }
  }
  for (; t < x.rows; ++t) {
    float out[4];
    dot_tile<W, 1, R>(tile_at<R>(w, row), x.data + t * x.stride, x.stride, x.columns, out);
    put<R>(add, out, to + t * y.stride);
  }
}

void multiply(bool add, const StoredRows& w, const ConstRows& x, const MutableRows& y) {
  with_type(w.type, [&](auto weights) HWY_ATTR {
    using W = decltype(weights);
    Index r = 0;
    for (; r + kRows <= y.columns; r += kRows) multiply_few<W, kRows>(add, w, r, x, y);
    for (; r + 2 <= y.columns; r += 2) multiply_few<W, 2>(add, w, r, x, y);
    for (; r < y.columns; ++r) multiply_few<W, 1>(add, w, r, x, y);
  });
}

// y[t, 0 … 32) += Σ_c c[t, c] · w[c, ·] for C columns.
template <typename W, Index T, Index C>
HWY_INLINE void add_group(const Tile<C>& columns, const float* c, Index c_stride, float* y,
                          Index y_stride) {
  const Floats d;
  Vector sums[T][kParts];
  for (Index t = 0; t < T; ++t) {
    for (std::size_t p = 0; p < kParts; ++p) {
      sums[t][p] = hn::LoadU(d, y + t * y_stride + p * kLanes);
    }
  }
  for (Index j = 0; j < C; ++j) {
    Vector w[kParts];
    W::decode(columns.row(j), w);
    for (Index t = 0; t < T; ++t) {
      const Vector factor = hn::Set(d, c[t * c_stride + j]);
      for (std::size_t p = 0; p < kParts; ++p) sums[t][p] = hn::MulAdd(w[p], factor, sums[t][p]);
    }
  }
  for (Index t = 0; t < T; ++t) {
    for (std::size_t p = 0; p < kParts; ++p) {
      hn::StoreU(sums[t][p], d, y + t * y_stride + p * kLanes);
    }
  }
}

// The same for all of the width of y.
template <typename W, Index T, Index C>
HWY_INLINE void add_tile(Tile<C> columns, const float* c, Index c_stride, float* y, Index y_stride,
                         Index outputs) {
  constexpr auto kGroupBytes = kGroup / W::kWeights * W::kBytes;
  const auto width = static_cast<std::size_t>(outputs);
  std::size_t i = 0;
  for (; i + kGroup <= width; i += kGroup, columns.data += kGroupBytes) {
    for (Index j = 0; j < C; ++j) columns.fetch(j);
    add_group<W, T, C>(columns, c, c_stride, y + i, y_stride);
  }
  if (i == width) return;
  std::uint8_t bytes[C * kGroupBytes] = {};
  for (Index j = 0; j < C; ++j) {
    std::memcpy(bytes + static_cast<std::size_t>(j) * kGroupBytes, columns.row(j),
                (width - i) * W::kBytes);
  }
  for (Index t = 0; t < T; ++t) {
    float rest[kGroup] = {};
    float* to = y + t * y_stride + i;
    std::copy_n(to, width - i, rest);
    add_group<W, 1, C>({bytes, kGroupBytes, {}}, c + t * c_stride, c_stride, rest, kGroup);
    std::copy_n(rest, width - i, to);
  }
}

template <typename W, Index C>
HWY_INLINE void add_tiles(const StoredRows& w, Index first, const ConstRows& c,
                          const MutableRows& y) {
  const auto columns = tile_at<C>(w, first);
  Index t = 0;
  for (; t + kTokens <= c.rows; t += kTokens) {
    add_tile<W, kTokens, C>(columns, c.data + t * c.stride + first, c.stride, y.data + t * y.stride,
                            y.stride, y.columns);
  }
  for (; t < c.rows; ++t) {
    add_tile<W, 1, C>(columns, c.data + t * c.stride + first, c.stride, y.data + t * y.stride,
                      y.stride, y.columns);
  }
}

// y[t] += Σ_j c[t, j] · column j: one column after the other.
void add_columns(const StoredRows& w, const ConstRows& c, const MutableRows& y) {
  with_type(w.type, [&](auto weights) HWY_ATTR {
    using W = decltype(weights);
    Index j = 0;
    for (; j + kColumns <= c.columns; j += kColumns) add_tiles<W, kColumns>(w, j, c, y);
    for (; j + 2 <= c.columns; j += 2) add_tiles<W, 2>(w, j, c, y);
    for (; j < c.columns; ++j) add_tiles<W, 1>(w, j, c, y);
  });
}

// sums[r] += the squares of 32 weights of each of four rows.
template <typename W>
HWY_INLINE void add_squares(const std::uint8_t* const (&rows)[4], Vector (&sums)[4][kSums]) {
  for (Index r = 0; r < 4; ++r) {
    Vector w[kParts];
    W::decode(rows[r], w);
    for (std::size_t p = 0; p < kParts; ++p) {
      sums[r][p % kSums] = hn::MulAdd(w[p], w[p], sums[r][p % kSums]);
    }
  }
}

// Four rows at a time; the last is taken for those that are not there.
void square_rows(const StoredRows& w, Index columns, std::span<float> out) {
  with_type(w.type, [&](auto weights) HWY_ATTR {
    using W = decltype(weights);
    constexpr auto kGroupBytes = kGroup / W::kWeights * W::kBytes;
    const auto width = static_cast<std::size_t>(columns);
    for (std::size_t first = 0; first < out.size(); first += 4) {
      const std::uint8_t* rows[4];
      Vector sums[4][kSums];
      for (std::size_t r = 0; r < 4; ++r) {
        rows[r] = reinterpret_cast<const std::uint8_t*>(
            w.data + std::min(first + r, out.size() - 1) * w.stride);
        for (auto& sum : sums[r]) sum = hn::Zero(Floats());
      }
      std::size_t i = 0;
      for (; i + kGroup <= width; i += kGroup) {
        add_squares<W>(rows, sums);
        for (auto& row : rows) row += kGroupBytes;
      }
      if (i < width) {
        std::uint8_t rest[4][kGroupBytes] = {};
        for (std::size_t r = 0; r < 4; ++r) {
          std::memcpy(rest[r], rows[r], (width - i) * W::kBytes);
          rows[r] = rest[r];
        }
        add_squares<W>(rows, sums);
      }
      float four[4];
      store_sums(sums, four);
      std::copy_n(four, std::min<std::size_t>(4, out.size() - first), out.data() + first);
    }
  });
}

// Sums of a few rows first: one of them all would lose digits.
void square_columns(const StoredRows& w, Index rows, std::span<float> out) {
  constexpr Index kFewRows = 64;
  with_type(w.type, [&](auto weights) HWY_ATTR {
    using W = decltype(weights);
    constexpr auto kGroupBytes = kGroup / W::kWeights * W::kBytes;
    const Floats d;
    for (std::size_t i = 0; i + kGroup <= out.size(); i += kGroup) {
      const auto* column = reinterpret_cast<const std::uint8_t*>(w.data) + i / kGroup * kGroupBytes;
      Vector all[kParts];
      for (auto& sum : all) sum = hn::Zero(d);
      for (Index first = 0; first < rows; first += kFewRows) {
        Vector few[kParts];
        for (auto& sum : few) sum = hn::Zero(d);
        for (Index r = first; r < std::min(rows, first + kFewRows); ++r) {
          Vector v[kParts];
          W::decode(column + static_cast<std::size_t>(r) * w.stride, v);
          for (std::size_t p = 0; p < kParts; ++p) few[p] = hn::MulAdd(v[p], v[p], few[p]);
        }
        for (std::size_t p = 0; p < kParts; ++p) all[p] = hn::Add(all[p], few[p]);
      }
      for (std::size_t p = 0; p < kParts; ++p) hn::StoreU(all[p], d, out.data() + i + p * kLanes);
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace leanstream::transformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leanstream::transformer {

HWY_EXPORT(multiply);
HWY_EXPORT(add_columns);
HWY_EXPORT(square_rows);
HWY_EXPORT(square_columns);

void multiply(const StoredRows& w, ConstRows x, MutableRows y) {
  HWY_DYNAMIC_DISPATCH(multiply)(false, w, x, y);
}

void add_multiplied(const StoredRows& w, ConstRows x, MutableRows y) {
  HWY_DYNAMIC_DISPATCH(multiply)(true, w, x, y);
}

void add_columns(const StoredRows& w, ConstRows c, MutableRows y) {
  HWY_DYNAMIC_DISPATCH(add_columns)(w, c, y);
}

void square_rows(const StoredRows& w, std::int64_t columns, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(square_rows)(w, columns, out);
}

void square_columns(const StoredRows& w, std::int64_t rows, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(square_columns)(w, rows, out);
}

}  // namespace leanstream::transformer
#endif
