// Progress on stderr: a line that renews itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace leanstream::run {

class Progress {
 public:
  // `things` are what is counted: "cells", "layers".
  explicit Progress(std::size_t total, std::string things = "cells");
  ~Progress();

  // `done` of the total are done; `what` was the last.
  void show(std::size_t done, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t total_;
  std::string things_;
  bool terminal_;
  Clock::time_point start_;
  Clock::time_point shown_;
  bool open_line_ = false;
};

}  // namespace leanstream::run
