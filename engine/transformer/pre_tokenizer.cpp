#include "engine/transformer/pre_tokenizer.h"

#include <array>

#include "engine/transformer/unicode.h"

namespace leanstream::transformer {
namespace {

enum class Class { kLetter, kNumber, kSpace, kSymbol };

Class class_of(char32_t c) {
  if (is_letter(c)) return Class::kLetter;
  if (is_number(c)) return Class::kNumber;
  return is_space(c) ? Class::kSpace : Class::kSymbol;
}

// The end of the run of one class that starts at `at`, and where its last character starts.
struct Run {
  std::size_t end;
  std::size_t last;
};

Run run_of(std::string_view text, std::size_t at, Class wanted) {
  Run run{at, at};
  while (run.end < text.size()) {
    const CodePoint c = code_point(text, run.end);
    if (class_of(c.value) != wanted) break;
    run.last = run.end;
    run.end += c.size_bytes;
  }
  return run;
}

std::size_t contraction_at(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 7> kEndings{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (const std::string_view ending : kEndings) {
    if (text.substr(at, ending.size()) == ending) return ending.size();
  }
  return 0;
}

// The end of the word that starts at `at` by GPT-2's expression; its alternatives in order.
std::size_t gpt2_word_end(std::string_view text, std::size_t at) {
  if (const std::size_t length = contraction_at(text, at); length != 0) return at + length;
  const bool blank = text[at] == ' ' && at + 1 < text.size();
  const std::size_t start = blank ? at + 1 : at;
  const Class first = class_of(code_point(text, start).value);
  if (first != Class::kSpace) return run_of(text, start, first).end;
  // Spaces: all at the end of the text, otherwise all but the last, which may lead the next word.
  const Run spaces = run_of(text, at, Class::kSpace);
  return spaces.end == text.size() || spaces.last == at ? spaces.end : spaces.last;
}

void gpt2_words(std::string_view text, std::vector<std::string_view>& words) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = gpt2_word_end(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace

std::vector<std::string_view> pre_tokenize(PreTokenizer kind, std::string_view text) {
  std::vector<std::string_view> words;
  if (kind == PreTokenizer::kGpt2) {
    gpt2_words(text, words);
    return words;
  }
  std::size_t piece = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point(text, at);
    if (is_number(c.value)) {
      gpt2_words(text.substr(piece, at - piece), words);
      words.push_back(text.substr(at, c.size_bytes));
      piece = at + c.size_bytes;
    }
    at += c.size_bytes;
  }
  gpt2_words(text.substr(piece), words);
  return words;
}

}  // namespace leanstream::transformer
