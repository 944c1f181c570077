// Assertions that stay on in release builds. A failed check is our bug: the message, the last
// events of the run and the command that repeats it go to stderr, then the process aborts.
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

namespace leanstream {

// Installs what is printed after the message of a failed check (event tail, seed, command line).
// An empty function removes it. Single-threaded use: one run at a time installs its own.
void set_failure_report(std::function<std::string()> report);

// Prints and ends the process with status 70 (a bug). Never returns.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);

}  // namespace leanstream

#define LEANSTREAM_CHECK(condition, ...)                                                    \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::leanstream::fail_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                       \
  } while (false)
