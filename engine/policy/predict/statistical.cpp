#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/policy/predict/predictor.h"
#include "engine/policy/predict/score_model.h"

namespace leanstream::policy {
namespace {

// Third coordinates of the stream of errors.
constexpr std::uint32_t kFreshErrors = 0;
constexpr std::uint32_t kLastingErrors = 1;

struct StatisticalParameters {
  std::vector<double> recall{};
  std::optional<double> recall_own{};
  double recall_density = 0.2;
  std::optional<double> error_persistence{};
};

// Recall of a layer's true top set by feature, as recorded with the trace or given. The set itself
// comes from the score model: truth and errors that agree as often as the recall says.
class Statistical final : public Predictor {
 public:
  using Parameters = StatisticalParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::list("recall", &Parameters::recall,
                     "recall from features -2, -1, 0 … 8; empty: as recorded with the trace, or as "
                     "published where it was not"),
        config::ratio(
            "recall_own", &Parameters::recall_own,
            "recall from the layer's own MLP input (feature -1) unless `recall` gives it; by "
            "default the trace's or, where exact weights gave that, 0.85: assumed, learned "
            "predictors reach 0.75 to 0.95"),
        config::ratio("recall_density", &Parameters::recall_density,
                      "density that a given recall refers to")
            .range(0.01, 0.99),
        config::ratio("error_persistence", &Parameters::error_persistence,
                      "correlation of a neuron's error between consecutive tokens; by default "
                      "the trace's, else 0: drawn anew")
            .range(0, 0.99)};
    return parameters;
  }

  Statistical(const Context& context, const Parameters& parameters)
      : activations_(context.activations), noise_(context.seed, "predict.statistical") {
    if (!parameters.recall.empty() && parameters.recall.size() != kRecalls) {
      throw UserError(
          "predictor statistical: recall needs {} values (features -2, -1, 0 … 8), not "
          "{}",
          kRecalls, parameters.recall.size());
    }
    prepare_scores();
    for (LayerId l = 0; l < activations_->layers(); ++l) weights_.push_back(fit(l, parameters));
    const double persistence =
        parameters.error_persistence.value_or(activations_->error_persistence());
    if (persistence > 0) periods_.emplace(persistence, activations_->ffn(), noise_);
  }

  void predict(TokenId token, LayerId layer, std::int32_t feature,
               std::span<std::uint8_t> codes) const override {
    const auto f = static_cast<std::size_t>(feature + 2);
    LEANSTREAM_CHECK(f < kRecalls, "feature {}", feature);
    const auto l = static_cast<std::uint32_t>(layer);
    const ErrorSource errors =
        periods_ ? ErrorSource{noise_.at(0, l, kLastingErrors), token, &*periods_}
                 : ErrorSource{noise_.at(static_cast<std::uint32_t>(token), l, kFreshErrors)};
    predict_codes(activations_->importance(token, layer),
                  weights_[static_cast<std::size_t>(layer)][f], errors, codes);
  }

 private:
  using Weights = std::array<ScoreWeights, kRecalls>;

  Weights fit(LayerId layer, const Parameters& parameters) {
    const auto recorded = activations_->recall(layer);
    auto recall = kMeasuredRecall;
    double density = parameters.recall_density;
    if (!parameters.recall.empty()) {
      std::copy(parameters.recall.begin(), parameters.recall.end(), recall.begin());
    } else {
      if (!recorded.empty()) density = activations_->recall_density();
      for (std::size_t f = 0; f < recorded.size(); ++f) {
        if (!std::isnan(recorded[f])) recall[f] = static_cast<double>(recorded[f]);
      }
      // A recall of 1 is that of exact weights.
      const bool given = !recorded.empty() && recorded[kOwnRecall] < 1;
      if (!given) recall[kOwnRecall] = kMeasuredRecall[kOwnRecall];
      if (parameters.recall_own) recall[kOwnRecall] = *parameters.recall_own;
    }
    if (density >= 1) {
      throw UserError(
          "predictor statistical: the trace's recall was measured at density 1, where it "
          "says nothing; record it again with a lower --recall-density, or give recall");
    }
    const double final = correlation(recall[kFinalRecall], density);
    Weights weights;
    for (std::size_t f = 0; f < kRecalls; ++f) {
      weights[f] = score_weights(correlation(recall[f], density), final);
    }
    return weights;
  }

  // Layers without a recording of their own share their recalls.
  double correlation(double recall, double density) {
    const auto [entry, is_new] = correlations_.try_emplace(recall, 0.0);
    if (is_new) entry->second = correlation_of_recall(recall, density);
    return entry->second;
  }

  const model::Activations* activations_;
  RandomStream noise_;
  std::optional<ErrorPeriods> periods_;    // of errors that last
  std::map<double, double> correlations_;  // of recalls at the one density of this predictor
  std::vector<Weights> weights_;           // of each layer
};

}  // namespace

LEANSTREAM_PREDICTOR(Statistical, "statistical", "predicts as often right as was measured")

}  // namespace leanstream::policy
