#include "engine/transformer/token_input.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/model/safetensors.h"

namespace leanstream::transformer {
namespace {

constexpr std::string_view kSeparators = " \t\r\n,";

std::vector<std::int32_t> parse_ids(const std::string& path, std::string_view text) {
  std::vector<std::int32_t> ids;
  for (std::size_t at = text.find_first_not_of(kSeparators); at < text.size();
       at = text.find_first_not_of(kSeparators, at)) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::int32_t id = -1;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || id < 0) {
      throw UserError("{}: byte {}: '{}' is no token id; ids are separated by blanks or commas",
                      path, at, word.substr(0, 40));
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> read_token_ids(const std::string& path) {
  if (!path.ends_with(".safetensors")) return parse_ids(path, read_file(path));
  const model::SafetensorsReader file(path);
  const std::array<std::int64_t, 1> shape{-1};
  return file.read<std::int32_t>(file.require("tokens", model::Dtype::kI32, shape));
}

std::vector<std::int32_t> read_text_ids(const std::string& path, const Tokenizer& tokenizer) {
  auto ids = tokenizer.encode(read_file(path));
  if (tokenizer.adds_begin()) ids.insert(ids.begin(), tokenizer.begin());
  return ids;
}

void check_token_ids(const std::vector<std::int32_t>& ids, const LlamaShape& shape,
                     std::int64_t least, const std::string& source) {
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count < least) {
    throw UserError("{}: {} tokens; at least {} are needed", source, count, least);
  }
  if (count > shape.context) {
    throw UserError("{}: {} tokens, but the context of the model is {}; use --limit {}", source,
                    count, shape.context, shape.context);
  }
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [&](std::int32_t id) { return id < 0 || id >= shape.vocab; });
  if (bad != ids.end()) {
    throw UserError("{}: token {} is {}; the model has ids 0 to {}", source, bad - ids.begin(),
                    *bad, shape.vocab - 1);
  }
}

}  // namespace leanstream::transformer
