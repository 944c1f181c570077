// Wraps a question in the form that an instruct model was trained on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/transformer/gguf.h"
#include "engine/transformer/tokenizer.h"

namespace leanstream::transformer {

// Ids of a ChatML conversation up to where the assistant's answer starts, with the system message
// that the file's template gives when the user gives none. The question is taken literally: names
// of control tokens in it have no effect. Throws UserError when the file has another template.
std::vector<std::int32_t> chat_prompt(const GgufFile& file, const Tokenizer& tokenizer,
                                      std::string_view question);

}  // namespace leanstream::transformer
