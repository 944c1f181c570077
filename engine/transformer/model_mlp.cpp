// The gated MLP: all neurons of many tokens, or chosen neurons of one.
#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/transformer/layer_parts.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {

void Model::mlp_input(LayerId l, const Matrix& x, Matrix& input) const {
  normalise(x, layer(l).mlp_norm, input);
}

void Model::gate_up(LayerId l, const Matrix& input, Matrix& h) const {
  const LayerWeights& w = layer(l);
  Matrix up(input.rows(), shape_.ffn);
  h.resize(input.rows(), shape_.ffn);
  multiply(input.view(), w.gate, h.view());
  multiply(input.view(), w.up, up.view());
  pool_->run(input.rows(), [&](std::int64_t t) {
    const auto gates = h[t];
    const auto ups = up[t];
    for (std::size_t j = 0; j < gates.size(); ++j) gates[j] = silu(gates[j]) * ups[j];
  });
}

void Model::importance(LayerId l, const Matrix& h, Matrix& s) const {
  const auto& norms = layer(l).down_norm;
  s.resize(h.rows(), h.columns());
  for (std::int64_t t = 0; t < h.rows(); ++t) {
    const auto from = h[t];
    const auto to = s[t];
    for (std::size_t j = 0; j < from.size(); ++j) to[j] = std::abs(from[j]) * norms[j];
  }
}

void Model::add_down(LayerId l, const Matrix& h, Matrix& x) const {
  const ConstRows down = layer(l).down.view();
  const std::int64_t width = std::max<std::int64_t>(48, (shape_.hidden / 4 + 47) / 48 * 48);
  pool_->run((shape_.hidden + width - 1) / width, [&](std::int64_t part) {
    const std::int64_t first = part * width;
    const std::int64_t count = std::min(width, shape_.hidden - first);
    add_product(h.view(), down.columns_from(first, count), x.view().columns_from(first, count));
  });
}

void Model::add_mlp(LayerId l, std::span<const float> input, std::span<const std::int32_t> neurons,
                    std::span<float> x) const {
  const LayerWeights& w = layer(l);
  const auto dot = [&](const Matrix& weight, std::int32_t j) {
    float result = 0;
    const auto n = static_cast<std::int64_t>(input.size());
    multiply_transposed({input.data(), 1, n, n}, weight.view().rows_from(j, 1), {&result, 1, 1, 1});
    return result;
  };
  std::vector<float> h(neurons.size());
  for (std::size_t i = 0; i < neurons.size(); ++i) {
    LEANSTREAM_CHECK(neurons[i] >= 0 && neurons[i] < shape_.ffn, "neuron {}", neurons[i]);
    h[i] = silu(dot(w.gate, neurons[i])) * dot(w.up, neurons[i]);
  }
  add_chosen_rows(h, neurons, w.down.view(), x);
}

}  // namespace leanstream::transformer
