// Drives a model through tokens, a chunk at a time, and lets an observer look in and choose which
// neurons are computed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/transformer/model.h"

namespace leanstream::transformer {

// Tokens that go through the layers together, at most.
inline constexpr std::size_t kChunkTokens = 128;

// What is known of a chunk of n tokens when the MLP of a layer is about to be added.
struct MlpStep {
  LayerId layer;
  std::int64_t first_position;  // of the chunk's first token
  const Matrix& residual;       // [n, hidden] after attention
  const Matrix& input;          // [n, hidden] normed residual
  const Matrix& importance;     // [n, ffn] of all neurons
  Matrix& h;                    // [n, ffn] silu(gate)·up; set to 0 what is not to be computed
};

class Observer {
 public:
  virtual ~Observer() = default;
  // x [n, hidden]: the input of a layer before its attention.
  virtual void layer_input(LayerId, const Matrix& /*x*/) {}
  virtual void mlp(MlpStep& /*step*/) {}
};

// Runs ids at positions cache.length() … and gives the residual after the last layer, x [n,
// hidden].
void forward(const Model& model, KvCache& cache, std::span<const std::int32_t> ids,
             Observer& observer, Matrix& x);

// −ln softmax(logits)[id].
float nll_of_row(std::span<const float> logits, std::int32_t id);

// −ln p(next[t] | …) of each row of x, the residual after the last layer. next.size() ≤ x.rows().
std::vector<float> nll_of(const Model& model, const Matrix& x, std::span<const std::int32_t> next);

// Called with the number of tokens done so far.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

// Teacher-forced over all ids from an empty cache, in chunks: nll[i] = −ln p(ids[i+1] | ids[0…i]),
// ids.size() − 1 values. `progress` may be empty.
std::vector<float> nll_of_text(const Model& model, std::span<const std::int32_t> ids,
                               Observer& observer, const Progress& progress = {});

// Perplexity of tokens after the first `skip`: exp of the mean NLL of tokens skip + 1 … (counted
// from 1), that is of nll[skip] and later. Needs skip < nll.size().
double perplexity(std::span<const float> nll, std::int64_t skip);

}  // namespace leanstream::transformer
