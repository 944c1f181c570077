#include "engine/transformer/selection.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/model/density.h"
#include "engine/transformer/active_sets.h"
#include "engine/transformer/sampling.h"
#include "engine/transformer/token_input.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

std::vector<BlockId> chosen(const std::vector<float>& importance, const SelectionRule& rule) {
  BlockSet active(static_cast<BlockId>(importance.size()));
  select_active(importance, rule, active);
  std::vector<BlockId> out;
  active.for_each([&](BlockId b) { out.push_back(b); });
  return out;
}

TEST(Selection, TopNeuronsAndBlocks) {
  const std::vector<float> s{1, 5, 2, 4, 3, 0};
  EXPECT_EQ(chosen(s, {0.5, 1}), (std::vector<BlockId>{1, 3, 4}));
  EXPECT_EQ(chosen(s, {1.0 / 3, 2}), (std::vector<BlockId>{0, 1}));  // 6 and 6: the first
  EXPECT_EQ(chosen({2, 1, 3, 1, 1}, {0.6, 1}), (std::vector<BlockId>{0, 1, 2}));
  EXPECT_EQ(chosen(s, {0.5, 4}), (std::vector<BlockId>{0, 1, 2, 3}));  // the last block is short
  EXPECT_EQ(chosen(s, {0.001, 1}), (std::vector<BlockId>{1}));
  EXPECT_EQ(chosen(s, {1, 1}).size(), 6U);
  EXPECT_EQ(model::kept_count(0.2, 1536), 307);
}

TEST(Selection, NotANumberDoesNotUpsetTheOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(chosen({1, nan, 3, nan, 2}, {0.6, 1}), (std::vector<BlockId>{1, 2, 3}));
}

TEST(ActiveSets, SavedSetsForceTheSameResult) {
  const Model model(GgufFile(write_temporary("tiny.gguf", tiny_model())), 1);
  std::vector<std::int32_t> ids(30);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 263);
  ActiveSets sets(30, 2, 96);
  SelectingObserver selecting({0.3, 1}, 96, &sets);
  const auto nll = nll_of_text(model, ids, selecting);
  const auto path = write_temporary("sets.safetensors", "");
  sets.write(path);
  const auto again = ActiveSets::read(model::SafetensorsReader(path), "sets", 2, 96);
  ForcingObserver forcing(again);
  EXPECT_EQ(nll_of_text(model, ids, forcing), nll);
  EXPECT_THROW(ActiveSets::read(model::SafetensorsReader(path), "sets", 3, 96), UserError);
}

TEST(Sampling, FollowsTheProbabilities) {
  const std::vector<float> logits{0, std::log(2.0F), std::log(5.0F), std::log(2.0F)};
  const auto counts = [&](const SamplingRule& rule) {
    RandomStream random(3, "tests.sampling");
    std::vector<int> n(4);
    for (int i = 0; i < 20'000; ++i) {
      ++n[static_cast<std::size_t>(sample(logits, rule, random))];
    }
    return n;
  };
  const auto all = counts({1, 0, 1});
  EXPECT_NEAR(all[0], 2'000, 250);
  EXPECT_NEAR(all[2], 10'000, 400);
  const auto two = counts({1, 2, 1});
  EXPECT_EQ(two[0] + two[3], 0);
  EXPECT_NEAR(two[1], 20'000 * 2 / 7, 400);
  EXPECT_EQ(counts({1, 0, 0.5})[2], 20'000);
  EXPECT_EQ(counts({0, 0, 1})[2], 20'000);
  EXPECT_GT(counts({0.25, 0, 1})[2], 18'500);
}

TEST(TokenInput, IdsFromTextAndWhatIsWrongWithThem) {
  const auto ids = [](const std::string& text) {
    return read_token_ids(write_temporary("ids.txt", text));
  };
  EXPECT_EQ(ids("1, 2\n3\t4,,5 "), (std::vector<std::int32_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(ids("").empty());
  for (const char* bad : {"1 -2", "1 x", "99999999999", "1.5"}) EXPECT_THROW(ids(bad), UserError);
  LlamaShape shape;
  shape.vocab = 10;
  shape.context = 4;
  EXPECT_NO_THROW(check_token_ids({1, 9}, shape, 2, "x"));
  EXPECT_THROW(check_token_ids({1, 10}, shape, 2, "x"), UserError);
  EXPECT_THROW(check_token_ids({1}, shape, 2, "x"), UserError);
  EXPECT_THROW(check_token_ids({1, 1, 1, 1, 1}, shape, 2, "x"), UserError);
}

}  // namespace
}  // namespace leanstream::transformer
