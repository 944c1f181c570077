// Embedding, norm, attention and head.
#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {
namespace {

constexpr std::int64_t kWeightRowsAtOnce = 96;  // of one part of a shared product
constexpr std::int64_t kQueriesAtOnce = 32;

std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

// In place: e^(v − max) / Σ over the first `visible` elements, 0 beyond.
void softmax(std::span<float> row, std::int64_t visible, float scale) {
  const auto seen = row.first(static_cast<std::size_t>(visible));
  const float most = *std::max_element(seen.begin(), seen.end());
  float sum = 0;
  for (float& v : seen) sum += v = std::exp((v - most) * scale);
  for (float& v : seen) v /= sum;
  std::fill(row.begin() + visible, row.end(), 0.0F);
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
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    const auto from = x[t];
    const auto to = out[t];
    double squares = 0;
    for (const float v : from) squares += double{v} * double{v};
    const double mean = squares / static_cast<double>(from.size());
    const auto scale = static_cast<float>(1.0 / std::sqrt(mean + shape_.norm_epsilon));
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * scale * weight[i];
  }
}

void Model::multiply(ConstRows x, const Matrix& weight, MutableRows y) const {
  pool_->run(parts_of(weight.rows(), kWeightRowsAtOnce), [&](std::int64_t part) {
    const std::int64_t first = part * kWeightRowsAtOnce;
    const std::int64_t count = std::min(kWeightRowsAtOnce, weight.rows() - first);
    multiply_transposed(x, weight.view().rows_from(first, count), y.columns_from(first, count));
  });
}

// Rotary embedding (Su et al., arXiv:2104.09864, eq. 34) of neighbouring pairs (2i, 2i + 1), the
// order in which GGUF files of this architecture store query and key.
void Model::rotate(MutableRows rows, std::int32_t heads, std::int64_t first_position) const {
  for (std::int64_t t = 0; t < rows.rows; ++t) {
    const auto row = rows[t];
    for (std::size_t i = 0; i < rope_rates_.size(); ++i) {
      const double angle = static_cast<double>(first_position + t) * rope_rates_[i];
      const auto c = static_cast<float>(std::cos(angle));
      const auto s = static_cast<float>(std::sin(angle));
      for (std::int32_t h = 0; h < heads; ++h) {
        float* pair = row.data() + h * shape_.head_size + 2 * static_cast<std::int64_t>(i);
        const float a = pair[0], b = pair[1];
        pair[0] = a * c - b * s;
        pair[1] = a * s + b * c;
      }
    }
  }
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
  rotate(query.view(), shape_.heads, first);
  rotate(keys, shape_.kv_heads, first);
  const std::int64_t blocks = parts_of(count, kQueriesAtOnce);
  pool_->run(shape_.heads * blocks, [&](std::int64_t part) {
    const std::int64_t from = part % blocks * kQueriesAtOnce;
    attend_head(l, cache, query, static_cast<std::int32_t>(part / blocks), from,
                std::min(kQueriesAtOnce, count - from), joined);
  });
  multiply(joined.view(), w.output, normed.view());
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t i = 0; i < shape_.hidden; ++i)
      x[t][static_cast<std::size_t>(i)] += normed[t][static_cast<std::size_t>(i)];
  }
}

// Queries first … first + count − 1 of the batch, one head; causal.
void Model::attend_head(LayerId l, const KvCache& cache, const Matrix& query, std::int32_t head,
                        std::int64_t first, std::int64_t count, Matrix& out) const {
  const std::int64_t size = shape_.head_size;
  const std::int64_t kv = head / (shape_.heads / shape_.kv_heads) * size;
  const std::int64_t visible = cache.length() + first + count;
  Matrix scores(count, visible);
  multiply_transposed(query.view().rows_from(first, count).columns_from(head * size, size),
                      cache.keys(l).rows_from(0, visible).columns_from(kv, size), scores.view());
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (std::int64_t t = 0; t < count; ++t) {
    softmax(scores[t], cache.length() + first + t + 1, scale);
  }
  add_product(scores.view(), cache.values(l).rows_from(0, visible).columns_from(kv, size),
              out.view().rows_from(first, count).columns_from(head * size, size));
}

void Model::head(const Matrix& x, Matrix& logits) const {
  Matrix normed;
  normalise(x, final_norm_, normed);
  const Matrix& weight = head_.rows() == 0 ? embedding_ : head_;
  logits.resize(x.rows(), shape_.vocab);
  multiply(normed.view(), weight, logits.view());
}

}  // namespace leanstream::transformer
