// The three kinds of error, never mixed:
//   UserError   the user's input is wrong: a plain message, exit status 2, no stack
//   a device's  a value in a completion (engine/scheduler/completion.h)
//   ours        LEANSTREAM_CHECK (check.h): abort with the tail of events, exit status 70
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace leanstream {

// Thrown for wrong input. The message says where, what, and what would be right; it may have
// several lines (all errors of a file at once).
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}

  template <typename... Args>
  explicit UserError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace leanstream
