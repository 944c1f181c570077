// The score model: predictions are as often right as they are said to be.
#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/normal.h"
#include "engine/config/document.h"
#include "engine/policy/predict/predictor.h"
#include "engine/policy/predict/score_kernel.h"
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
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "test", diagnostics);
  const auto choice = Registry<Predictor>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice.make({&activations, 7});
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

// The definition, neuron by neuron: what the vectorised kernel must give to the last byte.
std::vector<std::uint8_t> predict_naively(std::span<const std::uint8_t> truth, ScoreWeights weights,
                                          const std::vector<std::uint64_t>& words) {
  std::vector<std::uint8_t> sorted(truth.begin(), truth.end());
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [](double p) { return std::lround(normal_quantile(p) * 1024); };
  const auto deviate = [](std::uint32_t word) {
    int sum = 0;
    for (int byte = 0; byte < 4; ++byte) sum += word >> (8 * byte) & 255;
    return (sum * 2 - 1020) * 3547 / 1024;
  };
  std::vector<std::uint8_t> codes;
  for (std::size_t j = 0; j < truth.size(); ++j) {
    const auto [from, to] = std::equal_range(sorted.begin(), sorted.end(), truth[j]);
    const std::int64_t middle = ((from - sorted.begin()) + (to - sorted.begin())) * 4096 /
                                (2 * static_cast<std::int64_t>(truth.size()));
    const auto score = static_cast<int>(
        quantile((static_cast<double>(std::min<std::int64_t>(middle, 4095)) + 0.5) / 4096));
    const int sum = weights.truth * score +
                    weights.final_error * deviate(static_cast<std::uint32_t>(words[j])) +
                    weights.stage_error * deviate(static_cast<std::uint32_t>(words[j] >> 32));
    const int bin = std::clamp((sum / 1024 + 4096) / 16, 0, 511);
    // The code at whose share of the neurons the bin's middle lies.
    const auto rank = std::lround(normal_cdf((bin + 0.5) / 64 - 4) * 65536);
    std::size_t below = 0;
    while (true) {
      const auto end =
          std::upper_bound(sorted.begin(), sorted.end(), sorted[below]) - sorted.begin();
      below = static_cast<std::size_t>(end);
      if (below == sorted.size() || rank <= static_cast<long>(below * 65536 / sorted.size())) break;
    }
    codes.push_back(sorted[below - 1]);
  }
  return codes;
}

TEST(ScoreModel, TheKernelGivesWhatTheDefinitionSays) {
  const scheduler::SmallActivations activations(3, 1, 1000);
  const RandomStream random(5, "test.periods");
  for (const std::size_t neurons : {1U, 63U, 64U, 65U, 1000U}) {
    const ErrorPeriods periods(0.8, static_cast<std::int32_t>(neurons), random);
    for (TokenId t = 0; t < 3; ++t) {
      const auto truth = activations.importance(t, 0).first(neurons);
      const ScoreWeights weights = score_weights(0.3 + 0.2 * t, 0.7);
      std::vector<std::uint64_t> fresh, lasting;
      for (std::size_t j = 0; j < neurons; ++j) {
        fresh.push_back(mix(99, j));
        const std::uint64_t epoch =
            (static_cast<std::uint64_t>(t + 7) * periods.rates()[j] + periods.phases()[j]) >> 32;
        lasting.push_back(mix(99 + 0xd6e8feb86659fd93ULL * epoch, j));
      }
      std::vector<std::uint8_t> codes(neurons);
      predict_codes(truth, weights, {99}, codes);
      EXPECT_EQ(codes, predict_naively(truth, weights, fresh));
      predict_codes(truth, weights, {99, t + 7, &periods}, codes);
      EXPECT_EQ(codes, predict_naively(truth, weights, lasting));
    }
  }
}

TEST(ScoreModel, EveryInstructionSetGivesTheSame) {
  const scheduler::SmallActivations activations(1, 1, 777);
  const auto truth = activations.importance(0, 0);
  const ErrorPeriods periods(0.5, 777, RandomStream(5, "test.periods"));
  ScoreKernel kernel{.final_error = 401,
                     .stage_error = 173,
                     .key = 3,
                     .token = 11,
                     .rates = periods.rates(),
                     .phases = periods.phases()};
  for (int c = 0; c < 256; ++c) kernel.truth[static_cast<std::size_t>(c)] = (c - 128) * 30'011;
  for (std::size_t b = 0; b < kScoreBins; ++b) {
    kernel.code_of_bin[b] = static_cast<std::uint8_t>(b / 2);
  }
  std::vector<std::uint8_t> fresh(777), lasting(777), other(777);
  const ScoreVersion& base = score_versions().front();
  base.fresh(kernel, truth.data(), fresh.data(), 777);
  base.lasting(kernel, truth.data(), lasting.data(), 777);
  EXPECT_NE(fresh, lasting);
  for (const ScoreVersion& version : score_versions()) {
    version.fresh(kernel, truth.data(), other.data(), 777);
    EXPECT_EQ(other, fresh) << version.name;
    version.lasting(kernel, truth.data(), other.data(), 777);
    EXPECT_EQ(other, lasting) << version.name;
  }
}

// The same truth at every token, so that predictions differ by their errors alone.
class Constant final : public model::Activations {
 public:
  explicit Constant(double error_persistence = 0) : error_persistence_(error_persistence) {}
  TokenId tokens() const override { return 200; }
  LayerId layers() const override { return 1; }
  std::int32_t ffn() const override { return kNeurons; }
  std::span<const std::uint8_t> importance(TokenId, LayerId) const override {
    return one_.importance(0, 0);
  }
  std::span<const float> levels(LayerId) const override { return one_.levels(0); }
  std::span<const float> recall(LayerId) const override { return recall_; }
  double recall_density() const override { return 0.2; }
  double error_persistence() const override { return error_persistence_; }

 private:
  scheduler::SmallActivations one_{1, 1, kNeurons};
  std::vector<float> recall_ = std::vector<float>(11, 0.7F);
  double error_persistence_;
};

double equal_share(const Predictor& predictor, TokenId distance) {
  std::vector<std::uint8_t> before(kNeurons), after(kNeurons);
  int equal = 0;
  for (TokenId t = 0; t < 50; ++t) {
    predictor.predict(t, 0, 4, before);
    predictor.predict(t + distance, 0, 4, after);
    for (std::size_t j = 0; j < before.size(); ++j) equal += before[j] == after[j];
  }
  return equal / (50.0 * kNeurons);
}

TEST(Statistical, ErrorsLastAsLongAsAskedFor) {
  const Constant activations;
  const double by_chance = equal_share(*make("statistical", activations), 1);
  EXPECT_LT(by_chance, 0.05);
  for (const double persistence : {0.3, 0.7, 0.95}) {
    const auto predictor = make(
        fmt::format("{{policy: statistical, error_persistence: {}}}", persistence), activations);
    for (const TokenId distance : {1, 2, 5, 20}) {
      const double kept = std::pow(persistence, distance);
      EXPECT_NEAR(equal_share(*predictor, distance), kept + (1 - kept) * by_chance, 0.02)
          << persistence << " after " << distance;
    }
  }
}

TEST(Statistical, LastingErrorsAreAsLargeAsFreshOnes) {
  const Constant activations;
  const auto predictor = make("{policy: statistical, error_persistence: 0.9}", activations);
  const std::size_t n = kNeurons / 5;
  double sum = 0;
  for (TokenId t = 0; t < 200; ++t) {
    sum += share_in_common(top(activations.importance(t, 0), n), Codes(*predictor, t, 4).top(n));
  }
  EXPECT_NEAR(sum / 200, 0.7, 0.02);
}

TEST(Statistical, TakesFromTheTraceWhatIsNotGiven) {
  const Constant lasting(0.9);
  EXPECT_GT(equal_share(*make("statistical", lasting), 1), 0.85);
  EXPECT_LT(equal_share(*make("{policy: statistical, error_persistence: 0}", lasting), 1), 0.05);
  // The trace's recall from the layer's own input, 0.7 like the others, unless it is overruled.
  const auto own_codes = [&](const std::string& yaml) {
    std::vector<std::uint8_t> codes(kNeurons);
    make(yaml, lasting)->predict(3, 0, -1, codes);
    return codes;
  };
  EXPECT_EQ(own_codes("statistical"), own_codes("{policy: statistical, recall_own: 0.7}"));
  EXPECT_NE(own_codes("statistical"), own_codes("{policy: statistical, recall_own: 0.85}"));
}

TEST(PreviousToken, PredictsWhatTheTokenBeforeUsed) {
  const scheduler::SmallActivations activations(3, 2, 40);
  const auto predictor = make("previous_token", activations);
  std::vector<std::uint8_t> codes(40, 7);
  predictor->predict(2, 1, 8, codes);
  const auto before = activations.importance(1, 1);
  EXPECT_TRUE(std::equal(codes.begin(), codes.end(), before.begin()));
  predictor->predict(0, 1, -1, codes);
  EXPECT_EQ(codes, std::vector<std::uint8_t>(40, 0));
}

TEST(Statistical, AListOfTheWrongLengthIsRefused) {
  const scheduler::SmallActivations activations(1, 1, 8);
  EXPECT_THROW(make("{policy: statistical, recall: [0.5]}", activations), UserError);
}

}  // namespace
}  // namespace leanstream::policy
