#include "engine/base/top_choice.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>

#include "engine/base/code_sums.h"
#include "engine/base/hash.h"
#include "engine/base/random.h"

namespace leanstream {
namespace {

// By sorting: falling value, then falling hash, then falling index.
template <typename T>
BlockSet by_sorting(const std::vector<T>& values, TokenId token, std::int32_t count) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, BlockId>> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    order.emplace_back(values[i], mix(static_cast<std::uint64_t>(token), i),
                       static_cast<BlockId>(i));
  }
  std::sort(order.rbegin(), order.rend());
  BlockSet set(static_cast<BlockId>(values.size()));
  for (std::int32_t i = 0; i < count; ++i) set.set(std::get<2>(order[static_cast<std::size_t>(i)]));
  return set;
}

TEST(TopChoice, AgreesWithSorting) {
  RandomStream random(3, "test.top_choice");
  TopChoice top;
  for (int i = 0; i < 600; ++i) {
    const auto size = 1 + random.next_below(i % 3 == 0 ? 700 : 70);
    const auto range = std::uint64_t{1} << random.next_below(32);  // few or many equal values
    std::vector<std::uint32_t> words(size);
    std::vector<std::uint8_t> bytes(size), classes(size);
    for (auto& w : words) w = static_cast<std::uint32_t>(random.next_below(range) & 0x7fffffff);
    for (auto& b : bytes)
      b = static_cast<std::uint8_t>(random.next_below(std::min<std::uint64_t>(range, 256)));
    classes_of(words, classes);
    const auto count = static_cast<std::int32_t>(1 + random.next_below(size));
    BlockSet chosen(static_cast<BlockId>(size));
    const Cut cut = top.choose(words, classes, i, count, chosen);
    EXPECT_EQ(chosen, by_sorting(words, i, count)) << size << " words, " << count;
    EXPECT_GE(cut.tied, cut.chosen);
    top.choose(bytes, i, count, chosen);
    EXPECT_EQ(chosen, by_sorting(bytes, i, count)) << size << " bytes, " << count;
  }
}

TEST(TopChoice, ClassesNeverFall) {
  std::vector<std::uint32_t> values{0, 1};
  while (values.back() < 0x7fffffff - values.back() / 5) {
    values.push_back(values.back() + 1 + values.back() / 5);
  }
  values.push_back(0x7fffffff);
  std::vector<std::uint8_t> classes(values.size());
  classes_of(values, classes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(classes[i], class_of(values[i])) << values[i];
    EXPECT_GE(classes[i], classes[i > 0 ? i - 1 : 0]) << values[i];
  }
  EXPECT_EQ(classes.front(), 0);
  EXPECT_LE(classes.back(), 255);
  EXPECT_GT(class_of(64), class_of(32));
}

TEST(CodeSums, AgreeWithALoop) {
  RandomStream random(4, "test.sums");
  std::vector<std::uint32_t> units(256);
  for (auto& u : units) u = static_cast<std::uint32_t>(random.next_below(std::uint64_t{1} << 29));
  for (const std::int32_t width : {1, 2, 3, 5}) {
    for (const std::size_t size : {1U, 7U, 64U, 301U}) {
      std::vector<std::uint8_t> codes(size);
      for (auto& c : codes) c = static_cast<std::uint8_t>(random.next_below(256));
      const auto w = static_cast<std::size_t>(width);
      std::vector<std::uint32_t> expected((size + w - 1) / w), sums(expected.size());
      for (std::size_t j = 0; j < size; ++j) expected[j / w] += units[codes[j]];
      CodeSums(units).sum(codes, width, sums);
      EXPECT_EQ(sums, expected) << width << " " << size;
    }
  }
}

}  // namespace
}  // namespace leanstream
