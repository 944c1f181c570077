#include "engine/transformer/recorder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/transformer/active_sets.h"
#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {
namespace {

constexpr int kInputSlot = 0;     // feature −2
constexpr int kOwnInputSlot = 1;  // feature −1
constexpr int kStageSlot = 2;     // feature 0, those of 1 … 8 follow
constexpr float kLargestHalf = 65'504.0F;

}  // namespace

Recorder::Recorder(const Model& model, const RecordRule& rule)
    : model_(model),
      rule_(rule),
      recall_sums_(static_cast<std::size_t>(model.shape().layers * kFeatureSlots)) {}

void Recorder::layer_input(LayerId l, const Matrix& x) {
  if (l == 0) {  // there is no layer before: the embedding stands for all it would give
    previous_input_ = x;
    stages_.fill(x);
    tokens_ += x.rows();
    const auto rows = static_cast<std::size_t>(tokens_ * model_.shape().layers);
    importance_.resize(rows * static_cast<std::size_t>(model_.shape().ffn));
    if (rule_.keep_features) {
      features_.resize(rows * static_cast<std::size_t>(kFeatureSlots * model_.shape().hidden));
    }
  }
  input_ = x;
}

void Recorder::mlp(MlpStep& step) {
  keep_importance(step);
  for (int slot = 0; slot < kFeatureSlots; ++slot) {
    const Matrix& feature = slot == kInputSlot ? previous_input_
                            : slot == kOwnInputSlot
                                ? step.input
                                : stages_[static_cast<std::size_t>(slot - kStageSlot)];
    if (rule_.keep_features) keep_feature(step, slot, feature);
    if (rule_.recall_density > 0) measure_recall(step, slot, feature);
  }
  if (rule_.upstream_density < 1) compute_upstream(step);
  const bool last = step.layer + 1 == model_.shape().layers;
  if (!last && (rule_.keep_features || rule_.recall_density > 0)) {
    make_stages(step);
    previous_input_ = input_;
  }
}

std::size_t Recorder::row(const MlpStep& step, std::int64_t t) const {
  return static_cast<std::size_t>((step.first_position + t) * model_.shape().layers + step.layer);
}

void Recorder::keep_importance(const MlpStep& step) {
  for (std::int64_t t = 0; t < step.h.rows(); ++t) {
    const auto from = step.importance[t];
    std::copy(from.begin(), from.end(), &importance_[row(step, t) * from.size()]);
  }
}

void Recorder::keep_feature(const MlpStep& step, int slot, const Matrix& feature) {
  for (std::int64_t t = 0; t < feature.rows(); ++t) {
    const auto from = feature[t];
    const std::size_t first = (row(step, t) * kFeatureSlots + static_cast<std::size_t>(slot));
    std::transform(from.begin(), from.end(), &features_[first * from.size()], [](float v) {
      return float_to_half(std::clamp(v, -kLargestHalf, kLargestHalf));
    });
  }
}

void Recorder::measure_recall(const MlpStep& step, int slot, const Matrix& feature) {
  double& sum = recall_sums_[static_cast<std::size_t>(step.layer * kFeatureSlots + slot)];
  if (slot == kOwnInputSlot) {
    sum += static_cast<double>(feature.rows());
    return;
  }
  if (step.layer == 0 && slot > kInputSlot) {  // the same embedding again
    sum = recall_sums_[kInputSlot];
    return;
  }
  Matrix input, h, scores;
  model_.mlp_input(step.layer, feature, input);
  model_.gate_up(step.layer, input, h);
  model_.importance(step.layer, h, scores);
  std::vector<double> recalls(static_cast<std::size_t>(feature.rows()));
  model_.pool().run(feature.rows(), [&](std::int64_t t) {
    BlockSet truth(model_.shape().ffn), predicted(model_.shape().ffn);
    select_active(step.importance[t], {rule_.recall_density, 1}, truth);
    select_active(scores[t], {rule_.recall_density, 1}, predicted);
    recalls[static_cast<std::size_t>(t)] =
        static_cast<double>(truth.count_common(predicted)) / truth.count();
  });
  sum = std::accumulate(recalls.begin(), recalls.end(), sum);
}

void Recorder::compute_upstream(MlpStep& step) {
  SelectingObserver({rule_.upstream_density, 1}, model_.shape().ffn).mlp(step);
}

void Recorder::make_stages(const MlpStep& step) {
  for (Matrix& stage : stages_) stage.resize(step.residual.rows(), step.residual.columns());
  model_.pool().run(step.residual.rows(), [&](std::int64_t t) { make_stages_of_token(step, t); });
}

void Recorder::make_stages_of_token(const MlpStep& step, std::int64_t t) {
  const auto h = std::as_const(step.h)[t];
  const auto importance = step.importance[t];
  std::vector<std::int32_t> order;
  double total = 0;
  for (std::size_t j = 0; j < h.size(); ++j) {
    if (h[j] == 0) continue;
    order.push_back(static_cast<std::int32_t>(j));
    total += double{importance[j]};
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return importance[static_cast<std::size_t>(a)] > importance[static_cast<std::size_t>(b)];
  });
  std::copy(step.residual[t].begin(), step.residual[t].end(), stages_[0][t].begin());
  std::size_t done = 0;
  double computed = 0;
  for (int k = 1; k <= kStages; ++k) {
    const std::size_t first = done;
    std::vector<float> factors;
    while (done < order.size() && (k == kStages || computed < total * k / kStages)) {
      const auto j = static_cast<std::size_t>(order[done++]);
      computed += double{importance[j]};
      factors.push_back(h[j]);
    }
    const auto at = static_cast<std::size_t>(k);
    const auto before = stages_[at - 1][t];
    std::copy(before.begin(), before.end(), stages_[at][t].begin());
    add_chosen_rows(factors, std::span(order).subspan(first, done - first),
                    model_.layer(step.layer).down.view(), stages_[at][t]);
  }
}

std::vector<float> Recorder::recall() const {
  std::vector<float> mean;
  if (rule_.recall_density <= 0) return mean;
  for (const double sum : recall_sums_) {
    mean.push_back(
        static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(1, tokens_))));
  }
  return mean;
}

}  // namespace leanstream::transformer
