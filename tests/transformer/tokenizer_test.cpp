#include "engine/transformer/tokenizer.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/transformer/chat.h"
#include "engine/transformer/pre_tokenizer.h"
#include "engine/transformer/unicode.h"
#include "tests/transformer/smollm2.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

using Words = std::vector<std::string_view>;

TEST(PreTokenizer, Gpt2) {
  const auto words = [](std::string_view text) { return pre_tokenize(PreTokenizer::kGpt2, text); };
  EXPECT_EQ(words("Hello world's end"), (Words{"Hello", " world", "'s", " end"}));
  EXPECT_EQ(words("I'll we've 'SHE'LL"), (Words{"I", "'ll", " we", "'ve", " '", "SHE", "'", "LL"}));
  EXPECT_EQ(words("a  b   "), (Words{"a", " ", " b", "   "}));
  EXPECT_EQ(words("a\n\n b"), (Words{"a", "\n\n", " b"}));
  EXPECT_EQ(words("x=123!?"), (Words{"x", "=", "123", "!?"}));
  EXPECT_EQ(words("größe ½ 漢字、 Ω"), (Words{"größe", " ½", " 漢字", "、", " Ω"}));
  EXPECT_EQ(words(" "), (Words{" "}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words("a\xff\xfe"), (Words{"a", "\xff\xfe"}));
}

TEST(PreTokenizer, SmolLmTakesEveryDigitAlone) {
  const auto words = [](std::string_view text) {
    return pre_tokenize(PreTokenizer::kSmolLm, text);
  };
  EXPECT_EQ(words("in 1969 or x2"), (Words{"in", " ", "1", "9", "6", "9", " or", " x", "2"}));
  EXPECT_EQ(words("a  7"), (Words{"a", "  ", "7"}));
}

TEST(Unicode, ClassesAndUtf8) {
  EXPECT_TRUE(is_letter(U'a') && is_letter(U'ß') && is_letter(U'漢') && is_letter(0x1d54f));
  EXPECT_FALSE(is_letter(U'1') || is_letter(U'_') || is_letter(0x1f600));
  EXPECT_TRUE(is_number(U'7') && is_number(U'½') && is_number(U'Ⅷ') && !is_number(U'x'));
  EXPECT_TRUE(is_space(U' ') && is_space(0x3000) && !is_space(0x200b));
  for (const char32_t c : {U'a', U'ß', U'漢', char32_t{0x1f600}, char32_t{0x10ffff}}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(code_point(text, 0).value, c);
    EXPECT_EQ(code_point(text, 0).size_bytes, text.size());
  }
  for (const std::string_view bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_EQ(code_point(bad, 0).value, kInvalid);
    EXPECT_EQ(code_point(bad, 0).size_bytes, 1U);
  }
}

class TinyTokenizer : public testing::Test {
 protected:
  GgufFile file_{write_temporary("tokens.gguf", tiny_metadata().bytes())};
  Tokenizer tokenizer_{file_};
};

TEST_F(TinyTokenizer, MergesByRankAndDecodesEverything) {
  EXPECT_EQ(tokenizer_.encode("hello"), (std::vector<std::int32_t>{259}));
  EXPECT_EQ(tokenizer_.encode("hell"), (std::vector<std::int32_t>{258}));
  EXPECT_EQ(tokenizer_.encode("lllo"), (std::vector<std::int32_t>{257, 'l', 'o'}));
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  EXPECT_EQ(tokenizer_.decode(tokenizer_.encode(all)), all);
  EXPECT_TRUE(tokenizer_.encode("").empty());
}

TEST_F(TinyTokenizer, ControlTokensOnlyWhereAskedFor) {
  const std::string text = "he<|im_end|>ll";
  EXPECT_EQ(tokenizer_.encode(text, Tokenizer::Special::kParse),
            (std::vector<std::int32_t>{256, 262, 257}));
  EXPECT_GT(tokenizer_.encode(text).size(), 10U);
  EXPECT_EQ(tokenizer_.decode(tokenizer_.encode(text)), text);
}

TEST_F(TinyTokenizer, ChatMl) {
  EXPECT_EQ(tokenizer_.decode(chat_prompt(file_, tokenizer_, "hello <|im_end|>")),
            "<|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nhello <|im_end|><|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(Tokenizer, WrongMetadataIsExplained) {
  GgufBuilder none, other, bad_merge;
  none.add_text("general.architecture", "llama");
  other.add_text("tokenizer.ggml.model", "llama");
  bad_merge.add_text("tokenizer.ggml.model", "gpt2");
  bad_merge.add_text("tokenizer.ggml.pre", "gpt-2");
  bad_merge.add_texts("tokenizer.ggml.tokens", {"a", "b"});
  bad_merge.add_i32s("tokenizer.ggml.token_type", {1, 1});
  bad_merge.add_texts("tokenizer.ggml.merges", {"a b"});
  for (const GgufBuilder& builder : {none, other, bad_merge}) {
    const GgufFile file(write_temporary("wrong_tokens.gguf", builder.bytes()));
    EXPECT_THROW(Tokenizer{file}, UserError);
  }
}

class SmolLm2Tokenizer : public SmolLm2Test {};

TEST_F(SmolLm2Tokenizer, ChatPromptUsesTheModelsSystemMessage) {
  const auto& s = smollm2();
  const auto ids = chat_prompt(s.file, s.tokenizer, "Why is the sky blue?");
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(s.tokenizer.decode(ids),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nWhy is the sky blue?<|im_end|>\n"
            "<|im_start|>assistant\n");
}

}  // namespace
}  // namespace leanstream::transformer
