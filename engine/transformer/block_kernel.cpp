#include "engine/transformer/block_kernel.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/transformer/layer_parts.h"
#include "engine/transformer/matrix.h"
#include "engine/transformer/stored_kernels.h"

namespace leanstream::transformer {
namespace {

using Index = std::int64_t;

// No further than into the block that is next.
std::size_t block_fetched_ahead(const BlockLayout& layout) {
  return std::min(fetched_ahead(row_bytes(layout.gate, layout.hidden)), layout.bytes());
}

StoredRows rows_of(const StoredMatrix& w, std::int64_t first, std::int64_t count,
                   const ConstRows& x, const MutableRows& y) {
  LEANSTREAM_CHECK(x.columns == w.columns && y.rows == x.rows && y.columns == count && first >= 0 &&
                       count >= 0 && count <= w.rows - first,
                   "[{}, {}] by rows {} to {} of [{}, {}] into [{}, {}]", x.rows, x.columns, first,
                   first + count, w.rows, w.columns, y.rows, y.columns);
  const std::size_t stride = row_bytes(w.type, w.columns);
  const std::byte* from = w.bytes.data() + static_cast<std::size_t>(first) * stride;
  return {w.type, from, stride, w.bytes.data() + w.bytes.size(), fetched_ahead(stride)};
}

void check(const BlockLayout& layout, std::span<const std::byte> block, std::int32_t neurons) {
  LEANSTREAM_CHECK(
      neurons >= 0 && neurons <= layout.block_neurons && block.size() >= layout.bytes(),
      "{} of {} neurons in {} of {} bytes", neurons, layout.block_neurons, block.size(),
      layout.bytes());
}

// Tokens and neurons whose gates and ups are on the stack together.
constexpr std::int32_t kTokens = 16, kNeurons = 32;

// h of a few tokens and neurons. Where the up rows lie right behind the gate rows it is one
// product.
void gate_up(const StoredRows& gate, const StoredRows& up, const ConstRows& x,
             const MutableRows& h) {
  float products[kTokens * 2 * kNeurons];
  const Index k = h.columns;
  const MutableRows both{products, h.rows, 2 * k, 2 * k};
  if (gate.type == up.type && gate.data + static_cast<std::size_t>(k) * gate.stride == up.data) {
    multiply(gate, x, both);
  } else {
    multiply(gate, x, both.columns_from(0, k));
    multiply(up, x, both.columns_from(k, k));
  }
  for (Index t = 0; t < h.rows; ++t) {
    const float* gates = both[t].data();
    for (Index j = 0; j < k; ++j) h.data[t * h.stride + j] = silu(gates[j]) * gates[k + j];
  }
}

// y += down · h, the weights of an output being neighbours. What a block lacks of neurons has
// h = 0.
void add_down_groups(const StoredRows& down, Index k, const ConstRows& h, const MutableRows& y) {
  if (h.columns == k) {
    add_multiplied(down, h, y);
    return;
  }
  Matrix padded(h.rows, k);
  for (Index t = 0; t < h.rows; ++t) std::copy_n(h[t].data(), h.columns, padded[t].data());
  add_multiplied(down, padded.view(), y);
}

}  // namespace

void multiply_rows(const StoredMatrix& w, std::int64_t first, std::int64_t count, ConstRows x,
                   MutableRows y) {
  multiply(rows_of(w, first, count, x, y), x, y);
}

void add_rows(const StoredMatrix& w, std::int64_t first, std::int64_t count, ConstRows x,
              MutableRows y) {
  add_multiplied(rows_of(w, first, count, x, y), x, y);
}

void fetch_block(const BlockLayout& layout, std::span<const std::byte> block) {
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = std::min(block_fetched_ahead(layout), block.size());
  for (std::size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(block.data() + at);
}

void add_block(const BlockLayout& layout, std::span<const std::byte> block, std::int32_t neurons,
               ConstRows x, MutableRows h, MutableRows y, std::span<const std::byte> next) {
  check(layout, block, neurons);
  LEANSTREAM_CHECK(x.columns == layout.hidden && y.columns == layout.hidden && h.rows == x.rows &&
                       y.rows == x.rows && h.columns == neurons,
                   "[{}, {}] into [{}, {}] and [{}, {}]", x.rows, x.columns, h.rows, h.columns,
                   y.rows, y.columns);
  const std::byte* end = block.data() + layout.bytes();
  const std::size_t ahead = block_fetched_ahead(layout);
  const std::byte* after = next.empty() ? nullptr : next.data();
  const auto rows = [&](TensorType type, std::size_t offset, std::int32_t width) {
    return StoredRows{type, block.data() + offset, row_bytes(type, width), end, ahead, after};
  };
  for (std::int32_t j = 0; j < neurons; j += kNeurons) {
    const StoredRows gate = rows(layout.gate, layout.gate_offset(j), layout.hidden);
    const StoredRows up = rows(layout.up, layout.up_offset(j), layout.hidden);
    const MutableRows columns = h.columns_from(j, std::min(kNeurons, neurons - j));
    for (Index t = 0; t < x.rows; t += kTokens) {
      const Index count = std::min<Index>(kTokens, x.rows - t);
      gate_up(gate, up, x.rows_from(t, count), columns.rows_from(t, count));
    }
  }
  if (layout.down_in_groups) {
    const std::int32_t k = layout.block_neurons;
    add_down_groups(rows(layout.down, layout.down_group_offset(0), k), k, h, y);
  } else {
    add_columns(rows(layout.down, layout.down_offset(0), layout.hidden), h, y);
  }
}

void down_norms(const BlockLayout& layout, std::span<const std::byte> block, std::int32_t neurons,
                std::span<float> norms) {
  check(layout, block, neurons);
  LEANSTREAM_CHECK(norms.size() == static_cast<std::size_t>(neurons), "{} norms", norms.size());
  const auto rows = [&](std::size_t offset, std::int32_t width) {
    return StoredRows{.type = layout.down,
                      .data = block.data() + offset,
                      .stride = row_bytes(layout.down, width),
                      .end = block.data() + layout.bytes()};
  };
  if (layout.down_in_groups) {
    const std::int32_t k = layout.block_neurons;
    std::vector<float> all(static_cast<std::size_t>(k));
    square_columns(rows(layout.down_group_offset(0), k), layout.hidden, all);
    std::copy_n(all.begin(), norms.size(), norms.begin());
  } else {
    square_rows(rows(layout.down_offset(0), layout.hidden), layout.hidden, norms);
  }
  for (float& norm : norms) norm = std::sqrt(norm);
}

}  // namespace leanstream::transformer
