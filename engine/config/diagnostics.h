// What is wrong in a user's files: collected in one pass, printed sorted by position.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace leanstream::config {

// Where a value was written.
struct Position {
  std::shared_ptr<const std::string> file;  // as the user named it
  int line = 0;                             // from 1; 0 for a value of the command line
  int column = 0;

  // "file:line:column", or only the file when there is no line.
  std::string text() const;
};

struct Diagnostic {
  Position position;
  std::string message;
};

// Collects errors. Keeps the first kMost and counts the rest, so that a crafted file cannot fill
// the memory with messages.
class Diagnostics {
 public:
  static constexpr std::size_t kMost = 200;

  void error(const Position& position, std::string message);

  template <typename... Args>
  requires(sizeof...(Args) > 0) void error(const Position& position,
                                           fmt::format_string<Args...> format, Args&&... args) {
    error(position, fmt::format(format, std::forward<Args>(args)...));
  }

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  bool full() const { return count_ >= kMost; }

  // By file (in the order of their first error), line and column; without repetitions.
  std::vector<Diagnostic> sorted() const;
  // One line each: "file:line:column: error: message".
  std::string text() const;
  // Throws UserError with text() when there is an error.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> errors_;
  std::size_t count_ = 0;
};

// 'text' in quotes for a message: cut at 60 characters, control characters shown as '?'.
std::string quote(std::string_view text);

// "a, b, c" of names, for messages.
std::string join(const std::vector<std::string>& names);

}  // namespace leanstream::config
