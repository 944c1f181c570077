#include "engine/transformer/generate.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::transformer {
namespace {

// The last row of x alone.
Matrix last_row(const Matrix& x) {
  Matrix row(1, x.columns());
  const auto last = x[x.rows() - 1];
  std::copy(last.begin(), last.end(), row[0].begin());
  return row;
}

}  // namespace

Generated generate(const Model& model, std::span<const std::int32_t> prompt, std::int64_t count,
                   const SamplingRule& rule, RandomStream& random, std::int32_t end,
                   Observer& observer, const Progress& progress) {
  LEANSTREAM_CHECK(!prompt.empty(), "an empty prompt");
  const auto all = static_cast<std::int64_t>(prompt.size()) + count;
  KvCache cache(model.shape().layers, model.shape().kv_size(), all);
  Generated out{{prompt.begin(), prompt.end()}, {}};
  Matrix x, logits;
  for (std::size_t at = 0; at < prompt.size(); at += kChunkTokens) {
    const std::size_t rows = std::min(kChunkTokens, prompt.size() - at);
    forward(model, cache, prompt.subspan(at, rows), observer, x);
    const std::size_t known = std::min(rows, prompt.size() - 1 - at);
    const auto nll = nll_of(model, x, prompt.subspan(at + 1, known));
    out.nll.insert(out.nll.end(), nll.begin(), nll.end());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const Matrix last = last_row(x);
    model.head(last, logits);
    const std::int32_t next = sample(logits[0], rule, random);
    out.nll.push_back(nll_of_row(logits[0], next));
    out.ids.push_back(next);
    forward(model, cache, std::span(&next, 1), observer, x);
    if (progress) progress(i + 1, count);
    if (next == end) break;
  }
  return out;
}

}  // namespace leanstream::transformer
