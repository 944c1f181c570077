// Cuts text into the words that byte-pair merges do not cross.
#pragma once

#include <string_view>
#include <vector>

namespace leanstream::transformer {

enum class PreTokenizer {
  // The expression of GPT-2 (github.com/openai/gpt-2, src/encoder.py):
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  // Every digit alone first (`Digits(individual_digits)`), then GPT-2's within the pieces.
  kSmolLm,
};

// The words in order; together they are the text. Bytes that are no UTF-8 count as symbols.
std::vector<std::string_view> pre_tokenize(PreTokenizer kind, std::string_view text);

}  // namespace leanstream::transformer
