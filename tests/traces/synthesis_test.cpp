// Synthetic traces look as asked for and are the same everywhere.
#include "traces/synthesis.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/model/density.h"
#include "engine/transformer/tensor_type.h"
#include "tests/traces/small_trace.h"
#include "traces/latent_factors.h"
#include "traces/magnitude_profile.h"
#include "traces/statistics.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

model::ModelShape shape_of(LayerId layers, std::int32_t ffn) {
  model::ModelShape shape;
  shape.name = "mistral-7b";
  shape.layers = layers;
  shape.hidden = 160;
  shape.ffn = ffn;
  return shape;
}

// What SmolLM2-135M shows, but for the effect of position, which short traces overstate.
ActivationFit shipped() {
  ActivationFit fit = load_fit("smollm2-135m");
  for (FitLayer& layer : fit.layers) layer.position = 0;
  return fit;
}

class SynthesisTest : public testing::Test {
 protected:
  std::string write(const SynthesisRequest& request, const SynthesisKnobs& knobs = {},
                    const ActivationFit& fit = shipped()) {
    const std::string file = folder_.file(std::to_string(files_++));
    synthesize(request, fit, knobs).writer.write(file);
    return file;
  }
  Trace make(LayerId layers, std::int32_t ffn, TokenId tokens, const SynthesisKnobs& knobs = {},
             std::uint64_t seed = 1) {
    return Trace(write({.shape = shape_of(layers, ffn), .tokens = tokens, .seed = seed}, knobs));
  }

 private:
  TemporaryFolder folder_;
  int files_ = 0;
};

std::string bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(SynthesisTest, MeetsWhatItIsAskedFor) {
  const std::vector<std::pair<LayerId, std::int32_t>> shapes = {{12, 1536}, {3, 14336}};
  for (const auto& [layers, ffn] : shapes) {
    for (const double persistence : {0.345, 0.6, 0.83, 0.95}) {
      SynthesisKnobs knobs;
      knobs.persistence = persistence;
      knobs.importance_share = 0.4 + 0.5 * persistence;
      const auto s = set_statistics(make(layers, ffn, 200, knobs), 0.2);
      SCOPED_TRACE(fmt::format("{} neurons, {}", ffn, persistence));
      EXPECT_NEAR(s.overlap, persistence, 0.02);
      EXPECT_NEAR(s.importance_share, *knobs.importance_share, 0.015);
    }
  }
}

TEST_F(SynthesisTest, FiguresReferToTheDensityAskedFor) {
  SynthesisKnobs knobs;
  knobs.density = 0.38;
  knobs.persistence = 0.83;
  knobs.importance_share = 0.8;
  const auto s = set_statistics(make(6, 2048, 200, knobs), 0.38);
  EXPECT_NEAR(s.overlap, 0.83, 0.02);
  EXPECT_NEAR(s.importance_share, 0.8, 0.01);
}

TEST_F(SynthesisTest, HotShareIsThatOfALongTrace) {
  // What lasts long makes neurons hot for a while: the less the trace keeps, the sooner it is long.
  for (const auto& [hot_share, persistence] :
       {std::pair{0.25, 0.3}, std::pair{0.398, 0.345}, std::pair{0.55, 0.45}}) {
    SynthesisKnobs knobs;
    knobs.hot_share = hot_share;
    knobs.persistence = persistence;
    const auto s = set_statistics(make(4, 1024, 2000, knobs), 0.2);
    EXPECT_GT(s.hottest_share[1], hot_share - 0.01);
    EXPECT_LT(s.hottest_share[1], hot_share + 0.03);  // counting spreads what is counted
  }
}

TEST(Calibrate, WithoutKnobsTheFitIsLeftAlone) {
  const ActivationFit fit = load_fit("smollm2-135m");
  const ActivationFit process = calibrate(fit, static_cast<LayerId>(fit.layers.size()), {});
  for (std::size_t l = 0; l < fit.layers.size(); ++l) {
    EXPECT_EQ(process.layers[l].hot, fit.layers[l].hot);
    EXPECT_EQ(process.layers[l].lasting, fit.layers[l].lasting);
  }
  const ProcessFigures figures = figures_of(process, fit.density);
  EXPECT_NEAR(figures.persistence, fit.persistence, 0.015);
  EXPECT_NEAR(figures.hot_share, fit.hot_share, 0.02);
  EXPECT_NEAR(figures.importance_share, fit.importance_share, 0.01);
}

TEST(Calibrate, FiguresFollowTheKnobs) {
  const ActivationFit fit = load_fit("smollm2-135m");
  for (const double density : {0.1, 0.2, 0.5}) {
    for (const double wanted : {0.6, 0.7, 0.9}) {
      SynthesisKnobs knobs;
      knobs.density = density;
      knobs.persistence = wanted;
      knobs.importance_share = wanted;
      knobs.hot_share = 0.3;
      const auto figures = figures_of(calibrate(fit, 7, knobs), density);
      EXPECT_NEAR(figures.persistence, wanted, 1e-3);
      EXPECT_NEAR(figures.importance_share, wanted, 1e-3);
      EXPECT_NEAR(figures.hot_share, 0.3, 1e-3);
    }
  }
}

TEST(Calibrate, WhatNoProcessHasIsRefused) {
  const ActivationFit fit = load_fit("smollm2-135m");
  SynthesisKnobs knobs;
  knobs.hot_share = 0.8;
  EXPECT_THAT([&] { calibrate(fit, 4, knobs); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("alone keep 0.")));
  knobs = {};
  knobs.recall = {0.5};
  EXPECT_THROW(calibrate(fit, 4, knobs), UserError);
}

TEST_F(SynthesisTest, BytesDependOnTheSeedAloneNotOnThreads) {
  SynthesisRequest request{.shape = shape_of(5, 300), .tokens = 20, .features = true};
  request.threads = 1;
  const std::string one = bytes(write(request));
  request.threads = 3;
  EXPECT_EQ(one, bytes(write(request)));
  request.seed = 2;
  EXPECT_NE(one, bytes(write(request)));
}

TEST_F(SynthesisTest, ALongerTraceHoldsTheShorter) {
  const Trace small = make(3, 200, 5);
  const Trace large = make(3, 200, 9);
  for (TokenId t = 0; t < small.tokens(); ++t) {
    for (LayerId l = 0; l < 3; ++l) {
      EXPECT_THAT(small.importance(t, l), testing::ElementsAreArray(large.importance(t, l)));
    }
  }
  EXPECT_THAT(large.importance(0, 0),
              testing::Not(testing::ElementsAreArray(large.importance(0, 1))));
}

TEST_F(SynthesisTest, TheHeaderSaysWhatItIs) {
  SynthesisKnobs knobs;
  knobs.error_persistence = 0.7;
  knobs.persistence = 0.5;
  const Trace trace = make(2, 64, 3, knobs);
  EXPECT_EQ(trace.info().kind, TraceKind::kSynthetic);
  EXPECT_EQ(trace.info().knobs.at("fit"), "smollm2-135m");
  EXPECT_EQ(trace.info().knobs.at("persistence"), "0.5");
  EXPECT_THAT(trace.info().knobs.at("hot_share"), testing::EndsWith("(fit)"));
  EXPECT_THAT(trace.info().source, testing::HasSubstr("no model computed it"));
  EXPECT_EQ(trace.error_persistence(), 0.7);
  EXPECT_EQ(trace.recall_density(), 0.2);
  EXPECT_FLOAT_EQ(trace.recall(1, -1), 1);
  EXPECT_THAT(check_file(trace.path()), testing::IsEmpty());
}

TEST_F(SynthesisTest, TokensAreOfTheVocabulary) {
  for (const std::int32_t vocab : {32'000, 50}) {
    SynthesisRequest request{.shape = shape_of(1, 64), .tokens = 400};
    request.shape.vocab = vocab;
    const Trace trace(write(request));
    for (const std::int32_t id : trace.token_ids()) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, vocab);
    }
  }
}

// The published quantiles of |h|, layer by layer, also of few tokens.
TEST_F(SynthesisTest, MagnitudesAreThoseOfTheTable) {
  const auto measured = read_magnitudes(
      LEANSTREAM_SOURCE_DIR "/traces/measured/teal_mlp_activation_quantiles.csv", "llama2-7b");
  EXPECT_EQ(measured.model, "Llama-2-7B");
  const LayerId layers = 32;
  const std::int32_t ffn = 11008;
  const auto fit = with_magnitudes(with_layers(shipped(), layers), measured);
  SynthesisKnobs knobs;
  knobs.persistence = 0.83;
  const Trace trace(write({.shape = shape_of(layers, ffn), .tokens = 2}, knobs, fit));
  for (LayerId l = 0; l < layers; ++l) {
    std::vector<float> all;
    for (TokenId t = 0; t < trace.tokens(); ++t) {
      for (const auto code : trace.importance(t, l)) all.push_back(trace.levels(l)[code]);
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < measured.shares.size(); ++i) {
      const double got = all[static_cast<std::size_t>(measured.shares[i] * double(all.size()))];
      const double wanted = measured.layers[static_cast<std::size_t>(l)][i];
      EXPECT_NEAR(got / wanted, 1, 0.05) << "layer " << l << ", share " << measured.shares[i];
    }
  }
}

// Predictions with the neurons' own loadings on the features find what the fit's recall says.
TEST_F(SynthesisTest, FeaturesPredictAsWellAsRecallSays) {
  const std::int32_t ffn = 1536;
  const TokenId tokens = 60;
  const ActivationFit fit = with_layers(shipped(), 3);
  const Trace trace(
      write({.shape = shape_of(3, ffn), .tokens = tokens, .features = true}, {}, fit));
  const RandomStream random(1, "traces.synthesis");
  const auto sets = active_sets(trace, fit.density);
  const std::int32_t count = model::kept_count(fit.density, ffn);
  for (const LayerId l : {1, 2}) {
    const Loadings loadings(fit.layers[static_cast<std::size_t>(l)], l, ffn, random);
    for (const int feature : {-2, -1, 0, 3, 8}) {
      double found = 0;
      for (TokenId t = 0; t < tokens; ++t) {
        std::vector<std::int16_t> factors;
        for (const std::uint16_t half : trace.features_f16(t, l, feature).subspan(0, kFactors)) {
          factors.push_back(
              static_cast<std::int16_t>(std::lround(transformer::half_to_float(half) * (1 << 12))));
        }
        std::vector<std::pair<std::int32_t, std::int32_t>> scores;
        for (std::int32_t j = 0; j < ffn; ++j) {
          scores.emplace_back(-loadings.score(static_cast<std::size_t>(j), factors), j);
        }
        std::nth_element(scores.begin(), scores.begin() + count, scores.end());
        for (std::int32_t i = 0; i < count; ++i) found += sets.at(t, l).test(scores[i].second);
      }
      EXPECT_NEAR(found / tokens / count, trace.recall(l, feature), 0.03)
          << "layer " << l << ", feature " << feature;
    }
  }
}

TEST_F(SynthesisTest, WhatCannotBeMadeIsRefusedAtOnce) {
  ActivationFit fit = shipped();
  for (FitLayer& layer : fit.layers) layer.recall.clear();
  SynthesisRequest request{.shape = shape_of(32, 14336), .tokens = 100'000, .features = true};
  request.shape.hidden = 64;
  EXPECT_THAT([&] { synthesize(request, fit, {}); },
              testing::ThrowsMessage<UserError>(testing::AllOf(
                  testing::HasSubstr("at most 16 GB"), testing::HasSubstr("hidden 64"),
                  testing::HasSubstr("has no recall"))));
}

}  // namespace
}  // namespace leanstream::traces
