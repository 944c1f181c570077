#include "experiments/commands/list_table.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace leanstream::commands {
namespace {

using config::Json;

constexpr std::size_t kColumns = 100;

std::string cell(const Json& value) {
  return value.is_null() ? "" : config::plain_text(value);
}

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(const std::string& text, std::size_t columns) {
  const auto used = width(text);
  return text + std::string(used < columns ? columns - used : 0, ' ');
}

// Breaks at spaces so that lines fit between `indent` and the last column.
std::string wrapped(const std::string& text, std::size_t indent) {
  const std::size_t room = kColumns > indent + 30 ? kColumns - indent : 30;
  std::string result, line;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find(' ', at), text.size());
    const std::string next = text.substr(at, end - at);
    if (!line.empty() && width(line) + 1 + width(next) > room) {
      result += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + next;
    at = end + 1;
  }
  return result + line;
}

}  // namespace

std::string table_text(const Json& rows) {
  if (rows.empty()) return "nothing\n";
  std::vector<std::string> keys;
  for (const auto& [key, value] : rows.front().items()) keys.push_back(key);
  std::vector<std::size_t> widths;
  for (const auto& key : keys) {
    std::size_t widest = width(key);
    for (const auto& row : rows) widest = std::max(widest, width(cell(row.value(key, Json()))));
    widths.push_back(widest);
  }
  std::string text;
  const auto print = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      line += padded(cell_of(keys[i]), widths[i]) + "  ";
    }
    line += wrapped(cell_of(keys.back()), width(line));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  print([](const std::string& key) { return key; });
  for (const auto& row : rows) {
    print([&row](const std::string& key) { return cell(row.value(key, Json())); });
  }
  return text;
}

std::string object_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    if (value.is_array()) {
      text += "\n" + table_text(value);
    } else {
      text += fmt::format("{}: {}\n", key, wrapped(cell(value), key.size() + 2));
    }
  }
  return text;
}

}  // namespace leanstream::commands
