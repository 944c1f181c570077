// Embedding, norm, attention and head.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/transformer/layer_parts.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {
namespace {

constexpr std::int64_t kWeightRowsAtOnce = 96;  // of one part of a shared product
constexpr std::int64_t kQueriesAtOnce = 32;

std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

}  // namespace

void Model::embed(std::span<const std::int32_t> ids, Matrix& x) const {
  x.resize(static_cast<std::int64_t>(ids.size()), shape_.hidden);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    LEANSTREAM_CHECK(ids[t] >= 0 && ids[t] < shape_.vocab, "token id {}", ids[t]);
    const auto row = embedding_[ids[t]];
    std::copy(row.begin(), row.end(), x[static_cast<std::int64_t>(t)].begin());
  }
}

void Model::normalise(const Matrix& x, std::span<const float> weight, Matrix& out) const {
  out.resize(x.rows(), x.columns());
  transformer::normalise(x.view(), weight, shape_.norm_epsilon, out.view());
}

void Model::multiply(ConstRows x, const Matrix& weight, MutableRows y) const {
  pool_->run(parts_of(weight.rows(), kWeightRowsAtOnce), [&](std::int64_t part) {
    const std::int64_t first = part * kWeightRowsAtOnce;
    const std::int64_t count = std::min(kWeightRowsAtOnce, weight.rows() - first);
    multiply_transposed(x, weight.view().rows_from(first, count), y.columns_from(first, count));
  });
}

void Model::attend(LayerId l, KvCache& cache, Matrix& x) const {
  const LayerWeights& w = layer(l);
  const std::int64_t first = cache.length(), count = x.rows();
  LEANSTREAM_CHECK(count <= cache.capacity() - first, "{} + {} of {} tokens", first, count,
                   cache.capacity());
  Matrix normed, query(count, shape_.query_size()), joined(count, shape_.query_size());
  normalise(x, w.attention_norm, normed);
  const MutableRows keys = cache.keys(l).rows_from(first, count);
  multiply(normed.view(), w.query, query.view());
  multiply(normed.view(), w.key, keys);
  multiply(normed.view(), w.value, cache.values(l).rows_from(first, count));
  const Rotation rotation(rope_rates_, first, count);
  rotation.apply(query.view(), shape_.head_size);
  rotation.apply(keys, shape_.head_size);
  const std::int64_t blocks = parts_of(count, kQueriesAtOnce);
  pool_->run(shape_.heads * blocks, [&](std::int64_t part) {
    const std::int64_t from = part % blocks * kQueriesAtOnce;
    const std::int64_t rows = std::min(kQueriesAtOnce, count - from);
    attend_head(shape_, static_cast<std::int32_t>(part / blocks), first + from,
                query.view().rows_from(from, rows), cache.keys(l), cache.values(l),
                joined.view().rows_from(from, rows));
  });
  multiply(joined.view(), w.output, normed.view());
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t i = 0; i < shape_.hidden; ++i)
      x[t][static_cast<std::size_t>(i)] += normed[t][static_cast<std::size_t>(i)];
  }
}

void Model::head(const Matrix& x, Matrix& logits) const {
  Matrix normed;
  normalise(x, final_norm_, normed);
  const Matrix& weight = head_.rows() == 0 ? embedding_ : head_;
  logits.resize(x.rows(), shape_.vocab);
  multiply(normed.view(), weight, logits.view());
}

}  // namespace leanstream::transformer
