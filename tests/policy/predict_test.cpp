// The score model: predictions are as often right as they are said to be.
#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/policy/predict/predictor.h"
#include "engine/policy/predict/score_model.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

constexpr std::int32_t kNeurons = 1536;
constexpr TokenId kTokens = 40;

// The top `count` of codes, ties by index: the tests' own selection.
std::vector<bool> top(std::span<const std::uint8_t> codes, std::size_t count) {
  std::vector<std::size_t> order(codes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return codes[a] != codes[b] ? codes[a] > codes[b]
                                : (a * 2654435761U) % 4096 < (b * 2654435761U) % 4096;
  });
  std::vector<bool> in(codes.size());
  for (std::size_t i = 0; i < count; ++i) in[order[i]] = true;
  return in;
}

double share_in_common(const std::vector<bool>& a, const std::vector<bool>& b) {
  double both = 0;
  double all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) all += a[i], both += a[i] && b[i];
  return both / all;
}

std::unique_ptr<Predictor> make(const std::string& yaml, const model::Activations& activations) {
  return scheduler::make_policy<Predictor>(yaml, {&activations, 7});
}

class Codes {
 public:
  Codes(const Predictor& predictor, TokenId t, int feature) : codes_(kNeurons) {
    predictor.predict(t, 0, feature, codes_);
  }
  std::vector<bool> top(std::size_t n) const { return policy::top(codes_, n); }

 private:
  std::vector<std::uint8_t> codes_;
};

TEST(ScoreModel, RecallAndCorrelationAreInverse) {
  for (const double density : {0.1, 0.2, 0.5}) {
    EXPECT_NEAR(recall_of_correlation(0, density), density, 1e-3);
    for (const double recall : {0.5, 0.7, 0.9}) {
      if (recall <= density) continue;
      EXPECT_NEAR(recall_of_correlation(correlation_of_recall(recall, density), density), recall,
                  1e-3);
    }
  }
  // P(both above 0) = 1/4 + asin(c) ÷ 2π (Sheppard), so recall at density ½ is twice that.
  EXPECT_NEAR(recall_of_correlation(0.6, 0.5), 0.5 + std::asin(0.6) / M_PI, 1e-3);
}

TEST(Statistical, RecallIsWhatWasAskedFor) {
  const scheduler::SmallActivations activations(kTokens, 1, kNeurons);
  const auto predictor = make(
      "{policy: statistical, recall: [0.575, 0.85, 0.62, 0.685, 0.702, 0.71, 0.721, 0.727, 0.733, "
      "0.738, 0.742]}",
      activations);
  const std::size_t n = kNeurons / 5;
  const std::vector<std::pair<int, double>> asked{
      {-2, 0.575}, {-1, 0.85}, {0, 0.62}, {2, 0.702}, {8, 0.742}};
  for (const auto& [feature, recall] : asked) {
    double sum = 0;
    for (TokenId t = 0; t < kTokens; ++t) {
      sum += share_in_common(top(activations.importance(t, 0), n),
                             Codes(*predictor, t, feature).top(n));
    }
    EXPECT_NEAR(sum / kTokens, recall, 0.02) << "feature " << feature;
  }
}

// Agreement of a stage's set with the final one, measured on SmolLM2 at density 0.2 (mean over
// layers): 0.683, 0.838, 0.888, 0.929 at stages 0, 2, 4, 6. The model has no knob for it.
TEST(Statistical, StagesAgreeWithTheFinalPredictionAboutAsMeasured) {
  const scheduler::SmallActivations activations(kTokens, 1, kNeurons);
  const auto predictor = make("statistical", activations);
  const std::size_t n = kNeurons / 5;
  double last = 0;
  for (const auto& [stage, measured] :
       std::vector<std::pair<int, double>>{{0, 0.683}, {2, 0.838}, {4, 0.888}, {6, 0.929}}) {
    double sum = 0;
    for (TokenId t = 0; t < kTokens; ++t) {
      sum += share_in_common(Codes(*predictor, t, 8).top(n), Codes(*predictor, t, stage).top(n));
    }
    EXPECT_NEAR(sum / kTokens, measured, 0.06) << "stage " << stage;
    EXPECT_GT(sum / kTokens, last);
    last = sum / kTokens;
  }
}

// A predicted code is as frequent as a true one: sums over predicted blocks are comparable.
TEST(Statistical, PredictedImportanceIsDistributedLikeTheTruth) {
  const scheduler::SmallActivations activations(kTokens, 1, kNeurons);
  const auto predictor = make("statistical", activations);
  double truth = 0;
  double predicted = 0;
  std::vector<std::uint8_t> codes(kNeurons);
  for (TokenId t = 0; t < kTokens; ++t) {
    predictor->predict(t, 0, 4, codes);
    for (const std::uint8_t c : codes) predicted += c;
    for (const std::uint8_t c : activations.importance(t, 0)) truth += c;
  }
  EXPECT_NEAR(predicted / truth, 1.0, 0.01);
}

TEST(Statistical, AListOfTheWrongLengthIsRefused) {
  const scheduler::SmallActivations activations(1, 1, 8);
  EXPECT_THROW(make("{policy: statistical, recall: [0.5]}", activations), UserError);
}

}  // namespace
}  // namespace leanstream::policy
