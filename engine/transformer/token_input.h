// Where the token ids of a run come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/transformer/model.h"
#include "engine/transformer/tokenizer.h"

namespace leanstream::transformer {

// Ids from a file: numbers separated by blanks, line ends or commas; or, when its name ends in
// `.safetensors`, the tensor `tokens`, i32 [n]. Throws UserError naming the place of what is wrong.
std::vector<std::int32_t> read_token_ids(const std::string& path);

// Ids of a text file, with the model's begin token in front if it wants one.
std::vector<std::int32_t> read_text_ids(const std::string& path, const Tokenizer& tokenizer);

// Throws UserError when an id is no token of the model, or there are fewer than `least` ids or more
// than its context. `source` is named in the message.
void check_token_ids(const std::vector<std::int32_t>& ids, const LlamaShape& shape,
                     std::int64_t least, const std::string& source);

}  // namespace leanstream::transformer
