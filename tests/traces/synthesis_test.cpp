// Synthetic traces look as asked for and are the same everywhere.
#include "traces/synthesis.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/model/density.h"
#include "tests/traces/small_trace.h"
#include "traces/statistics.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

model::ModelShape shape_of(LayerId layers, std::int32_t ffn) {
  model::ModelShape shape;
  shape.name = "made-up";
  shape.layers = layers;
  shape.hidden = 64;
  shape.ffn = ffn;
  return shape;
}

class Synthesis : public testing::Test {
 protected:
  Trace make(LayerId layers, std::int32_t ffn, TokenId tokens, const SynthesisKnobs& knobs = {},
             std::uint64_t seed = 1) {
    const std::string file = folder_.file(std::to_string(files_++));
    synthesize(shape_of(layers, ffn), tokens, seed, knobs, "test").write(file);
    return Trace(file);
  }

 private:
  TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(Synthesis, MeetsWhatItIsAskedFor) {
  const std::vector<std::pair<LayerId, std::int32_t>> shapes = {{12, 1536}, {2, 14336}};
  for (const auto& [layers, ffn] : shapes) {
    for (const double persistence : {0.345, 0.6, 0.83, 0.95}) {
      for (const double importance_share : {0.45, 0.604, 0.85}) {
        SynthesisKnobs knobs;
        knobs.persistence = persistence;
        knobs.importance_share = importance_share;
        const auto s = set_statistics(make(layers, ffn, 200, knobs), kKnobDensity);
        SCOPED_TRACE(fmt::format("{} neurons, {}, {}", ffn, persistence, importance_share));
        EXPECT_NEAR(s.overlap, persistence, 0.02);
        EXPECT_NEAR(s.importance_share, importance_share, 0.02);
      }
    }
  }
}

TEST_F(Synthesis, HotShareIsThatOfALongTrace) {
  SynthesisKnobs knobs;
  for (const double hot_share : {0.25, 0.398, 0.55}) {
    knobs.hot_share = hot_share;
    knobs.persistence = 0.5;
    const auto s = set_statistics(make(2, 1536, 2000, knobs), kKnobDensity);
    EXPECT_NEAR(s.hottest_share[1], hot_share, 0.02);
  }
}

// Correlation over tokens of the overlap with the token before, between the layers.
double correlation_between_layers(const Trace& trace) {
  const auto sets = active_sets(trace, kKnobDensity);
  std::vector<double> sum(2), square(2);
  double product = 0;
  const double n = trace.tokens() - 1;
  for (TokenId t = 1; t < trace.tokens(); ++t) {
    double kept[2];
    for (LayerId l = 0; l < 2; ++l) {
      const auto at = static_cast<std::size_t>(l);
      kept[at] = sets.at(t, l).count_common(sets.at(t - 1, l));
      sum[at] += kept[at];
      square[at] += kept[at] * kept[at];
    }
    product += kept[0] * kept[1];
  }
  const auto deviation = [&](std::size_t l) {
    return std::sqrt(square[l] / n - sum[l] * sum[l] / n / n);
  };
  return (product / n - sum[0] * sum[1] / n / n) / (deviation(0) * deviation(1));
}

TEST_F(Synthesis, TheTokenFactorMovesAllLayersOfATokenAlike) {
  SynthesisKnobs knobs;
  knobs.layer_factor = 0;
  knobs.token_factor = 0.3;
  EXPECT_GT(correlation_between_layers(make(2, 2048, 300, knobs)), 0.6);
  std::swap(knobs.layer_factor, knobs.token_factor);
  EXPECT_LT(std::abs(correlation_between_layers(make(2, 2048, 300, knobs))), 0.2);
}

// Layers and tokens have streams of their own: neither how many there are nor who draws first
// (the number of threads) changes a value.
TEST_F(Synthesis, ALargerTraceHoldsTheSmaller) {
  const Trace small = make(1, 200, 5);
  const Trace large = make(3, 200, 9);
  for (TokenId t = 0; t < small.tokens(); ++t) {
    EXPECT_THAT(small.importance(t, 0), testing::ElementsAreArray(large.importance(t, 0)));
  }
  EXPECT_THAT(large.importance(0, 0),
              testing::Not(testing::ElementsAreArray(large.importance(0, 1))));
  const Trace other = make(1, 200, 5, {}, 2);
  EXPECT_THAT(small.importance(0, 0),
              testing::Not(testing::ElementsAreArray(other.importance(0, 0))));
}

TEST_F(Synthesis, TheHeaderSaysWhatItIs) {
  SynthesisKnobs knobs;
  knobs.error_persistence = 0.7;
  knobs.recall[policy::kOwnRecall] = 0.9;
  const Trace trace = make(2, 64, 3, knobs);
  EXPECT_EQ(trace.info().kind, TraceKind::kSynthetic);
  EXPECT_EQ(trace.info().knobs.at("persistence"), "0.345");
  EXPECT_EQ(trace.info().knobs.size(), 7u);
  EXPECT_EQ(trace.error_persistence(), 0.7);
  EXPECT_EQ(trace.recall_density(), kKnobDensity);
  EXPECT_FLOAT_EQ(trace.recall(1, -1), 0.9F);
  EXPECT_FLOAT_EQ(trace.recall(1, 8), 0.742F);
  EXPECT_THAT(check_file(trace.path()), testing::IsEmpty());
}

TEST_F(Synthesis, WhatNoProcessHasIsRefused) {
  SynthesisKnobs knobs;
  knobs.hot_share = 0.8;
  EXPECT_THAT([&] { calibrate(knobs); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("these alone keep 0.")));
  knobs = {};
  knobs.token_factor = 0.9;
  EXPECT_THROW(calibrate(knobs), UserError);
  knobs = {};
  knobs.recall.pop_back();
  EXPECT_THROW(calibrate(knobs), UserError);
}

// The parts are shares of one, and a neuron's scores decay from the overlap of consecutive tokens
// to that of hot neurons alone.
TEST_F(Synthesis, OverlapDecaysWithDistance) {
  SynthesisKnobs knobs;
  knobs.persistence = 0.7;
  const ScoreProcess p = calibrate(knobs);
  EXPECT_NEAR(p.fixed + p.lasting + p.token + p.layer + p.fresh, 1, 1e-12);
  const Trace trace = make(4, 1536, 150, knobs);
  const auto sets = active_sets(trace, kKnobDensity);
  const auto kept = [&](TokenId distance) {
    double sum = 0;
    for (TokenId t = distance; t < trace.tokens(); ++t) {
      for (LayerId l = 0; l < 4; ++l) sum += sets.at(t, l).count_common(sets.at(t - distance, l));
    }
    return sum / (trace.tokens() - distance) / 4 / model::kept_count(kKnobDensity, 1536);
  };
  EXPECT_GT(kept(1), kept(4) + 0.05);
  EXPECT_GT(kept(4), kept(16) + 0.05);
  // Two tokens far apart share the fixed part, up to the factors.
  EXPECT_NEAR(kept(100), policy::recall_of_correlation(p.fixed, kKnobDensity), 0.02);
}

}  // namespace
}  // namespace leanstream::traces
