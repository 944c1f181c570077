// Code points: UTF-8 and the three classes that pre-tokenizers ask for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leanstream::transformer {

// Stands for a byte that is not part of valid UTF-8; no letter, number or space.
inline constexpr char32_t kInvalid = 0xfffd;

struct CodePoint {
  char32_t value;
  std::size_t size_bytes;  // 1 … 4
};

// The code point that starts at byte `at` (< text.size()). Overlong, cut or surrogate sequences
// give {kInvalid, 1}.
CodePoint code_point(std::string_view text, std::size_t at);

void append_utf8(std::string& text, char32_t c);

bool is_letter(char32_t c);  // general category L*
bool is_number(char32_t c);  // general category N*
bool is_space(char32_t c);   // property White_Space

}  // namespace leanstream::transformer
