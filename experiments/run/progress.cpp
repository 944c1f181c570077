#include "experiments/run/progress.h"

#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace leanstream::run {
namespace {

constexpr double kPlainLineEveryS = 10;

std::string duration(double seconds) {
  const auto s = static_cast<long>(seconds + 0.5);
  return s < 60 ? fmt::format("{} s", s) : fmt::format("{} min {:02} s", s / 60, s % 60);
}

}  // namespace

Progress::Progress(std::size_t total, std::string things)
    : total_(total),
      things_(std::move(things)),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      shown_(start_) {}

Progress::~Progress() {
  if (open_line_) std::fputc('\n', stderr);
}

void Progress::show(std::size_t done, const std::string& what) {
  const auto now = Clock::now();
  const std::chrono::duration<double> since = now - shown_;
  if (!terminal_ && since.count() < kPlainLineEveryS) return;
  shown_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  const std::string line = fmt::format("{}/{} {}, {:.2g}/s, {} left: {}", done, total_, things_,
                                       rate, duration(left), what);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  open_line_ = terminal_;
}

}  // namespace leanstream::run
