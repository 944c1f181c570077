// One child process with text in and text out.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace leanstream::report {

struct ProcessResult {
  enum class End { exited, not_found, timed_out } end = End::exited;
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string error;
};

// Runs a program found in PATH, gives it `input` and waits at most `limit`; then it is killed.
ProcessResult run_process(const std::vector<std::string>& command, const std::string& input,
                          std::chrono::milliseconds limit);

}  // namespace leanstream::report
