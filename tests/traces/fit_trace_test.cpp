// A fit finds again what a trace was drawn from; its file says what is wrong with it.
#include "traces/fit_trace.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/traces/small_trace.h"
#include "traces/latent_factors.h"
#include "traces/magnitude_profile.h"
#include "traces/statistics.h"
#include "traces/synthesis.h"

namespace leanstream::traces {
namespace {

using testing::HasSubstr;

constexpr LayerId kLayers = 4;

ActivationFit made_up(double token, std::vector<double> lasting, double factors) {
  ActivationFit fit;
  fit.name = "made_up";
  fit.model = "none";
  fit.source = "made up";
  fit.tokens = 1;
  fit.layer_carry = 0.8;
  fit.token_shares = {0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02, 0.02, 0.01, 0.01};
  fit.magnitude_shares = {0.1, 0.5, 0.9, 0.99};
  FitLayer layer;
  for (std::size_t i = 0; i < kHotQuantiles; ++i) {
    layer.hot.push_back(-1.9 + 2.2 * static_cast<double>(i * i) / 4096);
  }
  layer.token = token;
  layer.lasting = std::move(lasting);
  layer.factors = factors;
  layer.magnitude = {0.1, 1, 3, 8};
  fit.layers.assign(kLayers, layer);
  return fit;
}

Trace drawn_from(const ActivationFit& fit, const TemporaryFolder& folder, std::uint64_t seed = 1) {
  SynthesisRequest request{.tokens = 900, .seed = seed};
  request.shape.name = "made-up";
  request.shape.layers = kLayers;
  request.shape.hidden = 64;
  request.shape.ffn = 1024;
  const std::string file = folder.file("trace" + std::to_string(seed));
  synthesize(request, fit, {}).writer.write(file);
  return Trace(file);
}

TEST(FitTraces, FindsWhatTheTraceWasDrawnFrom) {
  const TemporaryFolder folder;
  struct Case {
    double token;
    std::vector<double> lasting;
    double factors;
  };
  for (const Case& c : {Case{0.45, {0.25, 0, 0, 0.1}, 40}, Case{0, {0.1, 0, 0.5, 0}, 60},
                        Case{0.8, {0, 0, 0, 0}, 25}}) {
    const ActivationFit truth = made_up(c.token, c.lasting, c.factors);
    const Trace trace = drawn_from(truth, folder);
    const Trace* traces[] = {&trace};
    const ActivationFit fit = fit_traces(traces, 0.2, true);
    SCOPED_TRACE(fmt::format("token {}", c.token));
    EXPECT_NEAR(fit.layer_carry, truth.layer_carry, 0.1);
    EXPECT_NEAR(std::accumulate(fit.token_shares.begin(), fit.token_shares.end(), 0.0), 0.29, 0.06);
    // The truth's median is not Φ⁻¹ of a rate: only differences count.
    const auto spread = [](const FitLayer& l) { return l.hot[58] - l.hot[6]; };
    for (const FitLayer& layer : fit.layers) {
      EXPECT_NEAR(layer.token, c.token, 0.06);
      for (std::size_t i = 0; i < 4; ++i) {
        // Neighbouring lengths of memory are hard to tell apart.
        const double got = layer.lasting[i] + (i > 0 ? layer.lasting[i - 1] : 0);
        EXPECT_NEAR(got, c.lasting[i] + (i > 0 ? c.lasting[i - 1] : 0), 0.12) << i;
      }
      EXPECT_GT(layer.factors, c.factors / 1.6);
      EXPECT_LT(layer.factors, c.factors * 1.6);
      EXPECT_LT(layer.position, 1);
      EXPECT_NEAR(spread(layer), spread(truth.layers[0]), 0.2);
      const MagnitudeProfile got(fit.magnitude_shares, layer.magnitude);
      for (std::size_t i = 0; i < truth.magnitude_shares.size(); ++i) {
        EXPECT_NEAR(got.log_importance(truth.magnitude_shares[i]),
                    std::log(truth.layers[0].magnitude[i]), 0.05);
      }
    }
  }
}

TEST(FitTraces, ASecondTraceFromTheFitLooksAlike) {
  const TemporaryFolder folder;
  const Trace first = drawn_from(made_up(0.4, {0.3, 0, 0, 0.1}, 40), folder);
  const Trace* traces[] = {&first};
  const Trace second = drawn_from(fit_traces(traces, 0.2, true), folder, 2);
  const auto a = statistics(first, 0.2);
  const auto b = statistics(second, 0.2);
  EXPECT_NEAR(a.overlap, b.overlap, 0.015);
  EXPECT_NEAR(a.importance_share, b.importance_share, 0.01);
  for (std::size_t i = 0; i < kHottestShares.size(); ++i) {
    EXPECT_NEAR(a.hottest_share[i], b.hottest_share[i], 0.015);
  }
  for (std::size_t i = 0; i < kCacheShares.size(); ++i) {
    EXPECT_NEAR(a.cache[i].lru, b.cache[i].lru, 0.02);
    EXPECT_NEAR(a.cache[i].lfu, b.cache[i].lfu, 0.02);
    EXPECT_NEAR(a.cache[i].belady, b.cache[i].belady, 0.02);
  }
}

TEST(FitTraces, RefusesWithAllReasons) {
  const TemporaryFolder folder;
  std::vector<std::uint16_t> features;
  full_writer({}, features).write(folder.file("small"));
  full_writer({.ffn = 8}, features).write(folder.file("other"));
  const Trace small(folder.file("small")), other(folder.file("other"));
  const Trace* traces[] = {&small, &other};
  EXPECT_THAT([&] { fit_traces(traces, 0.4, false); },
              testing::ThrowsMessage<UserError>(
                  testing::AllOf(HasSubstr("2 × 8 neurons"), HasSubstr("synthetic; a fit is made"),
                                 HasSubstr("3 tokens; a fit needs at least 64"),
                                 HasSubstr("recall was measured at density 0.2, not 0.4"))));
  EXPECT_THAT([&] { fit_traces(traces, 1, true); },
              testing::ThrowsMessage<UserError>(HasSubstr("density 1: it must be above 0")));
}

ActivationFit parse(const std::string& text) {
  config::Diagnostics diagnostics;
  const auto fit = read_fit(config::parse_document(text, "fit.yaml", diagnostics), diagnostics);
  diagnostics.throw_if_any();
  return fit;
}

TEST(FitFile, KeepsFourDigits) {
  ActivationFit fit = made_up(0.123456, {0.1, 0.2, 0, 0}, 40);
  fit.reuse_tokens = {2, 9, 30};
  fit.layers[1].recall.assign(11, 0.5);
  const std::string text = fit_text(fit, "leanstream \"it\"");
  const ActivationFit got = parse(text);
  EXPECT_EQ(got.name, "fit");
  EXPECT_EQ(got.layers.size(), 4u);
  EXPECT_EQ(got.layers[0].token, 0.1235);
  EXPECT_TRUE(got.layers[0].recall.empty());
  EXPECT_EQ(got.layers[1].recall.size(), 11u);
  EXPECT_EQ(fit_text(got, "leanstream \"it\""), text);
}

TEST(FitFile, SaysEverythingThatIsWrong) {
  ActivationFit fit = made_up(0.7, {0.5, 0, 0, 0}, 40);
  fit.layers[1].hot.pop_back();
  fit.layers[1].token = 0;
  fit.layers[2].magnitude = {3, 1, 4, 5};
  fit.layers[2].token = 0;
  fit.layers[3].recall = {0.5};
  fit.token_shares = {0.9, 0.9};
  std::string text = fit_text(fit, "");
  text.replace(text.find("version: 1"), 10, "version: 9");
  text += "unknown: 1\n";
  EXPECT_THAT(
      [&] { parse(text); },
      testing::ThrowsMessage<UserError>(testing::AllOf(
          HasSubstr("'version'"), HasSubstr("'token' and 'lasting' sum to 1.2"),
          HasSubstr("'hot' has 64 values; it needs 65"), HasSubstr("'magnitude': 1 comes after 3"),
          HasSubstr("'recall' has 1 values; it needs 11"), HasSubstr("'token_shares' sum to 1.8"),
          HasSubstr("unknown"))));
  EXPECT_THAT([&] { parse("kind: fit\nversion: 1\n"); },
              testing::ThrowsMessage<UserError>(
                  testing::AllOf(HasSubstr("'layers' must be"), HasSubstr("'density'"))));
}

TEST(FitFile, LayersAreTakenAtEqualDepth) {
  ActivationFit fit = made_up(0.1, {0.1, 0, 0, 0}, 40);
  fit.layers.resize(2);
  fit.layers[1].token = 0.5;
  const ActivationFit more = with_layers(fit, 5);
  EXPECT_NEAR(more.layers[1].token, 0.2, 1e-12);
  EXPECT_EQ(more.layers[4].token, 0.5);
  EXPECT_NEAR(with_layers(fit, 1).layers[0].token, 0.3, 1e-12);
}

}  // namespace
}  // namespace leanstream::traces
