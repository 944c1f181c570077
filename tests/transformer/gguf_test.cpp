#include "engine/transformer/gguf.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/transformer/model.h"
#include "engine/transformer/tokenizer.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

GgufFile open(const std::string& bytes) {
  return GgufFile(write_temporary("x.gguf", bytes));
}

TEST(Gguf, ReadsValuesOfEachType) {
  GgufBuilder builder;
  builder.add_u32("u32", 7);
  builder.add_raw("i8", 1, raw(std::int8_t{-3}));
  builder.add_raw("u64", 10, raw(std::uint64_t{1} << 40));
  builder.add_raw("huge", 10, raw(~std::uint64_t{0}));
  builder.add_f32("f32", 0.5F);
  builder.add_raw("f64", 12, raw(0.25));
  builder.add_flag("flag", true);
  builder.add_text("text", "hello");
  builder.add_texts("texts", {"a", "", "ccc"});
  builder.add_i32s("ids", {1, -2});
  const GgufFile file = open(builder.bytes());
  EXPECT_EQ(file.integer("u32"), 7);
  EXPECT_EQ(file.integer("i8"), -3);
  EXPECT_EQ(file.integer("u64"), std::int64_t{1} << 40);
  EXPECT_THROW(file.integer("huge"), UserError);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.number("f64"), 0.25);
  EXPECT_TRUE(file.flag("flag", false));
  EXPECT_EQ(file.text("text"), "hello");
  EXPECT_EQ(file.texts("texts"), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(file.integers("ids"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(file.integer("missing", 9), 9);
  EXPECT_THROW(file.integer("missing"), UserError);
  EXPECT_THROW(file.text("u32"), UserError);
  EXPECT_THROW(file.integers("texts"), UserError);
}

TEST(Gguf, WrongFilesAreExplained) {
  const auto refused = [](const GgufBuilder& builder) {
    EXPECT_THROW(open(builder.bytes()), UserError);
  };
  GgufBuilder twice, unknown_value, nested, long_text, unknown_type, empty, overlap, odd_row, flag;
  twice.add_u32("a", 1), twice.add_u32("a", 1), refused(twice);
  unknown_value.add_raw("a", 13, raw(1)), refused(unknown_value);
  nested.add_raw("a", 9, raw(std::uint32_t{9}) + raw(std::uint64_t{0})), refused(nested);
  long_text.add_raw("a", 8, raw(~std::uint64_t{0})), refused(long_text);
  unknown_type.add_raw_tensor("a", {1}, 77, 0, "1234"), refused(unknown_type);
  empty.add_raw_tensor("a", {0}, 0, 0, "1234"), refused(empty);
  overlap.add_raw_tensor("a", {1}, 0, 0, "1234"), overlap.add_raw_tensor("b", {1}, 0, 0, "1234");
  refused(overlap);
  odd_row.add_raw_tensor("a", {33}, 8, 0, std::string(68, 'x')), refused(odd_row);
  flag.add_raw("a", 7, "\2"), refused(flag);
  GgufBuilder huge, beyond, unaligned, many;
  huge.add_raw_tensor("a", {1U << 30, 1U << 30, 1U << 30}, 0, 0, "1234"), refused(huge);
  beyond.add_raw_tensor("a", {1}, 0, 1U << 20, "1234"), refused(beyond);
  unaligned.add_raw_tensor("a", {1}, 0, 4, "12345678"), refused(unaligned);
  many.add_raw_tensor("a", {1, 1, 1, 1, 1}, 0, 0, "1234"), refused(many);
  EXPECT_THROW(open("GGUF"), UserError);
  EXPECT_THROW(open("GGUG" + GgufBuilder().bytes().substr(4)), UserError);
  EXPECT_THROW(open("GGUF" + raw(std::uint32_t{1}) + GgufBuilder().bytes().substr(8)), UserError);
  EXPECT_THROW(open("GGUF" + raw(std::uint32_t{3}) + raw(~std::uint64_t{0}) + raw(0L)), UserError);
}

TEST(Gguf, EachTensorTypeGivesBackTheWeights) {
  RandomStream random(5, "tests.weights");
  std::vector<float> weights(128);
  for (float& w : weights) w = static_cast<float>(random.next_unit() - 0.5);
  for (const TensorType type : all_tensor_types()) {
    GgufBuilder builder;
    builder.add_tensor("w", {64, 2}, type, weights);
    const GgufFile file = open(builder.bytes());
    std::vector<float> row(64);
    file.read_row(file.tensor("w"), 1, row);
    const bool four_bits = type == TensorType::kQ4_0 || type == TensorType::kQ4_1;
    const double tolerance = type == TensorType::kF32 ? 0 : four_bits ? 0.04 : 0.004;
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(row[i], weights[64 + i], tolerance) << static_cast<int>(type);
    }
  }
}

TEST(Gguf, HalfFloatsGoThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), half);
  }
  EXPECT_EQ(float_to_half(1e6F), 0x7c00);
  EXPECT_EQ(half_to_float(float_to_half(1.0F + 0x1p-11F)), 1.0F);  // a tie goes to even
  EXPECT_EQ(half_to_float(float_to_half(1.0F + 0x1.8p-10F)), 1.0F + 0x1p-9F);
}

// What a user does with a file: open it and load all of it. Only UserError may come of damage.
bool loads(const std::string& bytes) {
  try {
    const GgufFile file = open(bytes);
    const Tokenizer tokenizer(file);
    const Model model(file, 1);
    Matrix x;
    const std::vector<std::int32_t> ids{0};
    model.embed(ids, x);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

TEST(Gguf, AFileCutAnywhereIsTheUsersError) {
  GgufBuilder builder;
  builder.add_text("general.architecture", "llama");
  builder.add_texts("texts", {"a", "bc"});
  builder.add_i32s("ids", {1, 2});
  builder.add_tensor("w", {32, 1}, TensorType::kQ8_0, std::vector<float>(32, 1.0F));
  const std::string whole = builder.bytes().substr(0, builder.bytes().size() - 64 + 34);
  EXPECT_NO_THROW(open(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(open(whole.substr(0, size)), UserError) << size;
  }
}

TEST(Gguf, ACutModelIsTheUsersError) {
  const std::string whole = tiny_model({TensorType::kQ4_1, true, 1});
  ASSERT_TRUE(loads(whole));
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    ASSERT_FALSE(loads(whole.substr(0, size))) << size;
  }
}

TEST(Gguf, ADamagedModelNeverCrashes) {
  const std::string whole = tiny_model({TensorType::kQ4_1, true, 1});
  const std::size_t header = whole.find("blk.1.ffn_down.weight") + 100;
  constexpr std::array<int, 3> kFlips{0x01, 0x80, 0xff};
  int loaded = 0;
  for (std::size_t at = 0; at < header; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ kFlips[at % kFlips.size()]);
    loaded += loads(damaged) ? 1 : 0;
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace leanstream::transformer
