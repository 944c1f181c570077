#include "engine/config/diagnostics.h"

#include <algorithm>
#include <tuple>

#include <fmt/ranges.h>

#include "engine/base/error.h"

namespace leanstream::config {

std::string Position::text() const {
  const std::string name = file ? *file : "?";
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

void Diagnostics::error(const Position& position, std::string message) {
  ++count_;
  if (errors_.size() < kMost) errors_.push_back({position, std::move(message)});
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<std::string> files;
  const auto rank = [&files](const Diagnostic& d) {
    const std::string name = d.position.file ? *d.position.file : "";
    const auto found = std::find(files.begin(), files.end(), name);
    const auto index = found - files.begin();
    if (found == files.end()) files.push_back(name);
    return index;
  };
  using Key = std::tuple<std::ptrdiff_t, int, int>;
  std::vector<std::pair<Key, Diagnostic>> keyed;
  for (const auto& d : errors_) {
    const auto file = rank(d);
    keyed.emplace_back(Key{file, d.position.line, d.position.column}, d);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Diagnostic> result;
  Key last{-1, 0, 0};
  for (auto& [key, d] : keyed) {
    if (key == last && d.message == result.back().message) continue;
    last = key;
    result.push_back(std::move(d));
  }
  return result;
}

std::string Diagnostics::text() const {
  std::string lines;
  for (const auto& d : sorted()) {
    if (!lines.empty()) lines += '\n';
    lines += fmt::format("{}: error: {}", d.position.text(), d.message);
  }
  if (count_ > errors_.size()) lines += fmt::format("\n… and {} more", count_ - errors_.size());
  return lines;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw UserError(text());
}

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const bool cut = text.size() > kLongest;
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return "'" + shown + (cut ? "…'" : "'");
}

std::string join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace leanstream::config
