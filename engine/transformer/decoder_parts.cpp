#include "engine/transformer/decoder_parts.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/transformer/block_kernel.h"

namespace leanstream::transformer {

void embed(const Decoder& decoder, std::span<const std::int32_t> ids, MutableRows x) {
  const StoredMatrix& from = decoder.embedding;
  const std::size_t bytes = row_bytes(from.type, from.columns);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    LEANSTREAM_CHECK(ids[t] >= 0 && ids[t] < from.rows, "token id {}", ids[t]);
    const auto row = std::span(from.bytes).subspan(static_cast<std::size_t>(ids[t]) * bytes, bytes);
    dequantise(from.type, row, x[static_cast<std::int64_t>(t)]);
  }
}

void mlp_input(const Decoder& decoder, LayerId l, ConstRows x, MutableRows input) {
  const DecoderLayer& layer = decoder.layers[static_cast<std::size_t>(l)];
  normalise(x, layer.mlp_norm, decoder.shape.norm_epsilon, input);
}

void head_input(const Decoder& decoder, ConstRows x, MutableRows normed) {
  normalise(x, decoder.final_norm, decoder.shape.norm_epsilon, normed);
}

void head_logits(const Decoder& decoder, ConstRows normed, std::int64_t first, std::int64_t count,
                 MutableRows logits) {
  const StoredMatrix& head = decoder.head.rows == 0 ? decoder.embedding : decoder.head;
  multiply_rows(head, first, count, normed, logits.columns_from(first, count));
}

void AttentionPass::begin(LayerId l, KvCache& cache, ConstRows x) {
  LEANSTREAM_CHECK(x.rows <= cache.capacity() - cache.length(), "{} + {} of {} tokens",
                   cache.length(), x.rows, cache.capacity());
  layer_ = l;
  cache_ = &cache;
  first_ = cache.length();
  if (!rotation_.is_of(first_, x.rows)) {
    rotation_ = Rotation(decoder_.rope_rates, first_, x.rows);
  }
  normed_.resize(x.rows, x.columns);
  query_.resize(x.rows, decoder_.shape.query_size());
  joined_.resize(x.rows, decoder_.shape.query_size());
  normalise(x, layer().attention_norm, decoder_.shape.norm_epsilon, normed_.view());
}

std::int64_t AttentionPass::projected_rows() const {
  return decoder_.shape.query_size() + 2 * decoder_.shape.kv_size();
}

void AttentionPass::project(std::int64_t first, std::int64_t count) {
  LEANSTREAM_CHECK(first >= 0 && count >= 0 && count <= projected_rows() - first,
                   "{} + {} of {} rows", first, count, projected_rows());
  const ConstRows normed = normed_.view();
  // The part of the range that falls on this matrix, whose row 0 is row `start` of all.
  const auto part = [&](const StoredMatrix& w, std::int64_t start, MutableRows to) {
    const std::int64_t from = std::max(first - start, std::int64_t{0});
    const std::int64_t last = std::min(first + count - start, w.rows);
    if (from < last)
      multiply_rows(w, from, last - from, normed, to.columns_from(from, last - from));
  };
  const std::int64_t query_size = decoder_.shape.query_size(), kv_size = decoder_.shape.kv_size();
  part(layer().query, 0, query_.view());
  part(layer().key, query_size, cache_->keys(layer_).rows_from(first_, normed.rows));
  part(layer().value, query_size + kv_size, cache_->values(layer_).rows_from(first_, normed.rows));
}

void AttentionPass::rotate() {
  rotation_.apply(query_.view(), decoder_.shape.head_size);
  rotation_.apply(cache_->keys(layer_).rows_from(first_, query_.rows()), decoder_.shape.head_size);
}

void AttentionPass::attend(std::int32_t first_head, std::int32_t count) {
  constexpr std::int64_t kQueriesAtOnce = 32;
  const KvCache& cache = *cache_;
  for (std::int32_t head = first_head; head < first_head + count; ++head) {
    for (std::int64_t t = 0; t < query_.rows(); t += kQueriesAtOnce) {
      const std::int64_t rows = std::min(kQueriesAtOnce, query_.rows() - t);
      attend_head(decoder_.shape, head, first_ + t, query_.view().rows_from(t, rows),
                  cache.keys(layer_), cache.values(layer_), joined_.view().rows_from(t, rows));
    }
  }
}

void AttentionPass::add_output(std::int64_t first, std::int64_t count, MutableRows x) const {
  add_rows(layer().output, first, count, joined_.view(), x.columns_from(first, count));
}

void AttentionPass::run(LayerId l, KvCache& cache, MutableRows x) {
  begin(l, cache, x);
  project(0, projected_rows());
  rotate();
  attend(0, decoder_.shape.heads);
  add_output(0, decoder_.shape.hidden, x);
}

}  // namespace leanstream::transformer
