// Looks at a pass and keeps what a trace holds: importance, the features from which a predictor of
// the next layer may predict, and how well exact weights predict from them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/transformer/forward.h"
#include "engine/transformer/selection.h"

namespace leanstream::transformer {

// Feature indices −2 … 8 of layer l, in slots 0 … 10:
//   −2     the input of layer l − 1 before its attention
//   −1     the MLP input of l: after its attention and norm
//   k ≥ 0  the residual of layer l − 1 after k/8 of its computed importance, most important neurons
//          first (0: after its attention; 8: the input of l)
// For layer 0 all but −1 are the embedding.
inline constexpr int kFeatureSlots = 11;
inline constexpr int kStages = 8;

struct RecordRule {
  double upstream_density = 1;  // what each layer computes
  double recall_density = 0.2;  // 0: recall is not measured
  bool keep_features = false;   // 2 · hidden · 11 bytes a token and layer
};

class Recorder final : public Observer {
 public:
  Recorder(const Model& model, const RecordRule& rule);

  void layer_input(LayerId l, const Matrix& x) override;
  void mlp(MlpStep& step) override;

  // For the n tokens seen so far:
  std::int64_t tokens() const { return tokens_; }
  // [n, layers, ffn], of all neurons.
  const std::vector<float>& importance() const { return importance_; }
  // [n, layers, 11, hidden] half floats; what exceeds ±65,504 is kept as that. Empty unless kept.
  const std::vector<std::uint16_t>& features() const { return features_; }
  // [layers, 11]: recall of the true top recall_density of a layer by the top of the same size that
  // its own norm, gate and up give on each feature, its attention left out; mean over the tokens.
  // Slot −1 is 1 by construction. Empty when not measured.
  std::vector<float> recall() const;

 private:
  void keep_importance(const MlpStep& step);
  void keep_feature(const MlpStep& step, int slot, const Matrix& feature);
  void measure_recall(const MlpStep& step, int slot, const Matrix& feature);
  void compute_upstream(MlpStep& step);
  void make_stages(const MlpStep& step);
  void make_stages_of_token(const MlpStep& step, std::int64_t t);
  std::size_t row(const MlpStep& step, std::int64_t t) const;

  const Model& model_;
  RecordRule rule_;
  std::int64_t tokens_ = 0;
  Matrix input_;                            // of the current layer, before its attention
  Matrix previous_input_;                   // of the layer before
  std::array<Matrix, kStages + 1> stages_;  // of the layer before
  std::vector<float> importance_;
  std::vector<std::uint16_t> features_;
  std::vector<double> recall_sums_;  // [layers, 11]
};

}  // namespace leanstream::transformer
