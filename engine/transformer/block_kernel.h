// Products with weights as they are stored: f32 activations, no copy of the weights in f32. One
// thread; the widest vectors of the machine at run time; sums in an order that depends on sizes
// alone.
#pragma once

#include <cstdint>
#include <span>

#include "engine/transformer/block_layout.h"
#include "engine/transformer/decoder.h"
#include "engine/transformer/kernels.h"

namespace leanstream::transformer {

// y[t, o − first] = Σ_i x[t, i] · w[o, i] for rows first … first + count − 1 of w.
void multiply_rows(const StoredMatrix& w, std::int64_t first, std::int64_t count, ConstRows x,
                   MutableRows y);

// y[t, o − first] += the same.
void add_rows(const StoredMatrix& w, std::int64_t first, std::int64_t count, ConstRows x,
              MutableRows y);

// y[t] += Σ_i h[t, i] · down_i, h = silu(gate_i · x[t]) · (up_i · x[t]), over the first `neurons`
// neurons of the block. x and y [n, hidden]. h [n, neurons] is written (scratch or of use).
// Meanwhile the block that is used next, if any, is brought into the cache: the memory's latency is
// most of what a small block costs.
void add_block(const BlockLayout& layout, std::span<const std::byte> block, std::int32_t neurons,
               ConstRows x, MutableRows h, MutableRows y, std::span<const std::byte> next = {});

// Begins to bring a block into the cache that was not next of another.
void fetch_block(const BlockLayout& layout, std::span<const std::byte> block);

// ‖down_i‖₂ of the block's neurons.
void down_norms(const BlockLayout& layout, std::span<const std::byte> block, std::int32_t neurons,
                std::span<float> norms);

}  // namespace leanstream::transformer
