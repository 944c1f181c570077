#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace leanstream {
namespace {

std::function<std::string()>& failure_report() {
  static std::function<std::string()> report;
  return report;
}

}  // namespace

void set_failure_report(std::function<std::string()> report) {
  failure_report() = std::move(report);
}

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "leanstream: bug at %s:%d: %s\n  check failed: %s\n", file, line,
               message.c_str(), condition);
  if (auto report = std::exchange(failure_report(), nullptr)) {
    std::fprintf(stderr, "%s\n", report().c_str());
  }
  std::fflush(stderr);
  std::_Exit(70);
}

}  // namespace leanstream
