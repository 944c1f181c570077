#include "engine/transformer/chat.h"

#include <string>

#include "engine/base/error.h"

namespace leanstream::transformer {
namespace {

constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";

// What stands between "<|im_start|>system⏎" and "<|im_end|>" in the template, "" without it. A line
// end is a real one or the two characters \n, depending on who wrote the file.
std::string_view system_message(std::string_view text) {
  for (const std::string_view line_end : {std::string_view("\n"), std::string_view("\\n")}) {
    const std::string head = std::string(kStart) + "system" + std::string(line_end);
    const std::size_t from = text.find(head);
    if (from == std::string_view::npos) continue;
    const std::string_view rest = text.substr(from + head.size());
    const std::size_t length = rest.find(kEnd);
    // A quote means that the text is put together from variables: there is no fixed message.
    if (length == std::string_view::npos || rest.find('\'') < length) continue;
    return rest.substr(0, length);
  }
  return {};
}

}  // namespace

std::vector<std::int32_t> chat_prompt(const GgufFile& file, const Tokenizer& tokenizer,
                                      std::string_view question) {
  const std::string_view text = file.text("tokenizer.chat_template", "");
  const std::int32_t start = tokenizer.find(kStart), end = tokenizer.find(kEnd);
  if (text.find(kStart) == std::string_view::npos || text.find(kEnd) == std::string_view::npos ||
      start < 0 || end < 0) {
    throw UserError(
        "{}: its chat template is not ChatML (<|im_start|>role … <|im_end|>), the only one "
        "supported; give the prompt as plain text (--raw)",
        file.path());
  }
  std::vector<std::int32_t> ids;
  if (tokenizer.adds_begin()) ids.push_back(tokenizer.begin());
  const auto add = [&](std::string_view piece) {
    const auto more = tokenizer.encode(piece);
    ids.insert(ids.end(), more.begin(), more.end());
  };
  const auto add_message = [&](std::string_view role, std::string_view content) {
    ids.push_back(start);
    add(std::string(role) + "\n" + std::string(content));
    ids.push_back(end);
    add("\n");
  };
  const std::string_view system = system_message(text);
  if (!system.empty()) add_message("system", system);
  add_message("user", question);
  ids.push_back(start);
  add("assistant\n");
  return ids;
}

}  // namespace leanstream::transformer
