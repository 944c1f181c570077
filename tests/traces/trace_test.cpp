#include "traces/trace.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/traces/small_trace.h"

namespace leanstream::traces {
namespace {

using testing::HasSubstr;

constexpr SmallShape kShape{.tokens = 5, .layers = 3, .hidden = 4, .ffn = 70};

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Trace, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  std::vector<std::uint16_t> features;
  const TraceWriter writer = full_writer(kShape, features);
  writer.write(folder.file("t"));
  const Trace trace(folder.file("t"));
  TraceInfo info = small_info(kShape);
  info.recall_density = 0.2;
  EXPECT_EQ(trace.info(), info);
  EXPECT_EQ(trace.tokens(), 5);
  EXPECT_EQ(trace.layers(), 3);
  EXPECT_EQ(trace.ffn(), 70);
  EXPECT_EQ(trace.token_ids()[4], 104);
  EXPECT_TRUE(std::isnan(trace.nll()[0]));
  EXPECT_EQ(trace.nll()[1], 1.5F);
  EXPECT_FLOAT_EQ(trace.recall(2, -1), 23.0F / 33);
  EXPECT_EQ(trace.features_f16(4, 2, 8)[3], features.back());
  EXPECT_EQ(trace.features_f16(0, 1, -2)[0], features[kFeatures * 4]);
  const auto importance = random_importance(kShape, 1);
  for (std::int32_t j = 0; j < 70; ++j) {
    const float stored = trace.levels(1)[trace.importance(2, 1)[static_cast<std::size_t>(j)]];
    const float truth = importance[static_cast<std::size_t>((2 * 3 + 1) * 70 + j)];
    EXPECT_NEAR(stored / truth, 1, 0.12) << j;
  }
  EXPECT_TRUE(check_file(folder.file("t")).empty());
}

TEST(Trace, OnlyImportancesAreNeeded) {
  const TemporaryFolder folder;
  TraceWriter writer(small_info(kShape), kShape.tokens);
  EXPECT_THAT(message_of([&] { writer.write(folder.file("t")); }), HasSubstr("were not set"));
  writer.set_importance(random_importance(kShape, 1));
  writer.write(folder.file("t"));
  const Trace trace(folder.file("t"));
  EXPECT_FALSE(trace.has_features());
  EXPECT_FALSE(trace.has_recall());
  EXPECT_TRUE(std::isnan(trace.nll()[4]));
}

TEST(Trace, CodesAreCopiedAsTheyAre) {
  const TemporaryFolder folder;
  TraceWriter writer(small_info({.tokens = 1, .layers = 1, .hidden = 1, .ffn = 2}), 1);
  std::vector<float> levels(256, 1.0F);
  levels[0] = 0.25F;
  writer.set_codes({7, 0}, levels);
  writer.write(folder.file("t"));
  const Trace trace(folder.file("t"));
  EXPECT_THAT(trace.importance(0, 0), testing::ElementsAre(7, 0));
  EXPECT_EQ(trace.levels(0)[0], 0.25F);
}

TEST(TraceWriter, RefusesWhatAReaderWould) {
  TraceWriter writer(small_info(kShape), kShape.tokens);
  auto importance = random_importance(kShape, 1);
  importance[(1 * 3 + 2) * 70 + 9] = std::nanf("");
  EXPECT_THAT(message_of([&] { writer.set_importance(importance); }),
              HasSubstr("token 1, layer 2, neuron 9 is nan"));
  importance.pop_back();
  EXPECT_THAT(message_of([&] { writer.set_importance(importance); }), HasSubstr("1049 values"));
  EXPECT_THAT(message_of([&] {
                writer.set_nll(std::vector<float>{1, 2, -1, 0});
              }),
              HasSubstr("nll of token 3 is -1"));
  EXPECT_THAT(message_of([&] { writer.set_recall(std::vector<float>(33, 0.5F), 0); }),
              HasSubstr("density 0"));
  TraceInfo info = small_info(kShape);
  info.upstream_density = 1.5;
  info.model.ffn = 0;
  const std::string message = message_of([&] { TraceWriter(info, 0); });
  EXPECT_THAT(message, HasSubstr("upstream_density"));
  EXPECT_THAT(message, HasSubstr("model.ffn"));
  EXPECT_THAT(message, HasSubstr("at least 1"));
}

TEST(TraceWriter, NllOfTheTokensAfterTheFirstIsEnough) {
  const TemporaryFolder folder;
  TraceWriter writer(small_info(kShape), kShape.tokens);
  writer.set_importance(random_importance(kShape, 1));
  writer.set_nll(std::vector<float>{1, 2, 3, -1e-6F});
  writer.write(folder.file("t"));
  const Trace trace(folder.file("t"));
  EXPECT_TRUE(std::isnan(trace.nll()[0]));
  EXPECT_EQ(trace.nll()[1], 1);
  EXPECT_EQ(trace.nll()[4], 0);
}

}  // namespace
}  // namespace leanstream::traces
