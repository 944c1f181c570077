#include "engine/transformer/layer_parts.h"

#include <algorithm>

namespace leanstream::transformer {
namespace {

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

void normalise(ConstRows x, std::span<const float> weight, double epsilon, MutableRows to) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const auto from = x[t];
    const auto out = to[t];
    double squares = 0;
    for (const float v : from) squares += double{v} * double{v};
    const double mean = squares / static_cast<double>(from.size());
    const auto scale = static_cast<float>(1.0 / std::sqrt(mean + epsilon));
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = from[i] * scale * weight[i];
  }
}

std::vector<double> rope_rates(const LlamaShape& shape) {
  std::vector<double> rates;
  for (std::int32_t i = 0; i < shape.rope_size / 2; ++i) {
    rates.push_back(std::pow(shape.rope_base, -2.0 * i / shape.rope_size));
  }
  return rates;
}

Rotation::Rotation(std::span<const double> rates, std::int64_t first, std::int64_t count)
    : first_(first),
      cosines_(count, static_cast<std::int64_t>(rates.size())),
      sines_(count, static_cast<std::int64_t>(rates.size())) {
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double angle = static_cast<double>(first + t) * rates[i];
      cosines_[t][i] = static_cast<float>(std::cos(angle));
      sines_[t][i] = static_cast<float>(std::sin(angle));
    }
  }
}

void Rotation::apply(MutableRows rows, std::int32_t head_size) const {
  for (std::int64_t t = 0; t < rows.rows; ++t) {
    const auto cosines = cosines_[t], sines = sines_[t];
    for (std::int64_t head = 0; head < rows.columns; head += head_size) {
      float* pair = rows[t].data() + head;
      for (std::size_t i = 0; i < cosines.size(); ++i, pair += 2) {
        const float a = pair[0], b = pair[1];
        pair[0] = a * cosines[i] - b * sines[i];
        pair[1] = a * sines[i] + b * cosines[i];
      }
    }
  }
}

void attend_head(const LlamaShape& shape, std::int32_t head, std::int64_t first, ConstRows query,
                 ConstRows keys, ConstRows values, MutableRows out) {
  const std::int64_t size = shape.head_size;
  const std::int64_t kv = head / (shape.heads / shape.kv_heads) * size;
  const std::int64_t visible = first + query.rows;
  Matrix scores(query.rows, visible);
  multiply_transposed(query.columns_from(head * size, size),
                      keys.rows_from(0, visible).columns_from(kv, size), scores.view());
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  const MutableRows own = out.columns_from(head * size, size);
  for (std::int64_t t = 0; t < query.rows; ++t) {
    softmax(scores[t], first + t + 1, scale);
    std::fill(own[t].begin(), own[t].end(), 0.0F);
  }
  add_product(scores.view(), values.rows_from(0, visible).columns_from(kv, size), own);
}

}  // namespace leanstream::transformer
