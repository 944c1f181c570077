#include "experiments/commands/commands.h"

#include <string_view>

namespace leanstream::commands {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";

std::string quoted_for_a_shell(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string& text() {
  static std::string line;
  return line;
}

}  // namespace

const std::string& command_line() {
  return text();
}

void set_command_line(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) {
    if (i > 0) text() += ' ';
    text() += quoted_for_a_shell(argv[i]);
  }
}

}  // namespace leanstream::commands
