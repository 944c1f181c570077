#include "engine/transformer/forward.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace leanstream::transformer {
namespace {

constexpr auto kChunk = static_cast<std::int64_t>(kChunkTokens);
constexpr std::int64_t kHeadTokens = 32;  // logits of this many tokens exist at a time

}  // namespace

void forward(const Model& model, KvCache& cache, std::span<const std::int32_t> ids,
             Observer& observer, Matrix& x) {
  Matrix input, h, importance;
  model.embed(ids, x);
  for (LayerId l = 0; l < model.shape().layers; ++l) {
    observer.layer_input(l, x);
    model.attend(l, cache, x);
    model.mlp_input(l, x, input);
    model.gate_up(l, input, h);
    model.importance(l, h, importance);
    MlpStep step{l, cache.length(), x, input, importance, h};
    observer.mlp(step);
    model.add_down(l, h, x);
  }
  cache.advance(static_cast<std::int64_t>(ids.size()));
}

float nll_of_row(std::span<const float> logits, std::int32_t id) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float v : logits) sum += std::exp(double{v} - double{most});
  const double own = double{logits[static_cast<std::size_t>(id)]};
  return static_cast<float>(std::log(sum) + double{most} - own);
}

std::vector<float> nll_of(const Model& model, const Matrix& x, std::span<const std::int32_t> next) {
  const auto count = static_cast<std::int64_t>(next.size());
  LEANSTREAM_CHECK(count <= x.rows(), "{} next tokens of {}", count, x.rows());
  std::vector<float> nll(next.size());
  Matrix part, logits;
  for (std::int64_t first = 0; first < count; first += kHeadTokens) {
    const std::int64_t rows = std::min(kHeadTokens, count - first);
    part.resize(rows, x.columns());
    for (std::int64_t t = 0; t < rows; ++t) {
      std::copy(x[first + t].begin(), x[first + t].end(), part[t].begin());
    }
    model.head(part, logits);
    model.pool().run(rows, [&](std::int64_t t) {
      const auto i = static_cast<std::size_t>(first + t);
      nll[i] = nll_of_row(logits[t], next[i]);
    });
  }
  return nll;
}

std::vector<float> nll_of_text(const Model& model, std::span<const std::int32_t> ids,
                               Observer& observer, const Progress& progress) {
  const auto count = static_cast<std::int64_t>(ids.size());
  const LlamaShape& shape = model.shape();
  KvCache cache(shape.layers, shape.kv_size(), count);
  std::vector<float> nll;
  Matrix x;
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t rows = std::min(kChunk, count - first);
    const auto at = static_cast<std::size_t>(first);
    forward(model, cache, ids.subspan(at, static_cast<std::size_t>(rows)), observer, x);
    const std::int64_t known = std::min(rows, count - 1 - first);
    const auto chunk = nll_of(model, x, ids.subspan(at + 1, static_cast<std::size_t>(known)));
    nll.insert(nll.end(), chunk.begin(), chunk.end());
    if (progress) progress(first + rows, count);
  }
  return nll;
}

double perplexity(std::span<const float> nll, std::int64_t skip) {
  LEANSTREAM_CHECK(skip >= 0 && skip < static_cast<std::int64_t>(nll.size()), "skip {} of {}", skip,
                   nll.size());
  double sum = 0;
  for (const float v : nll.subspan(static_cast<std::size_t>(skip))) sum += double{v};
  return std::exp(sum / static_cast<double>(nll.size() - static_cast<std::size_t>(skip)));
}

}  // namespace leanstream::transformer
