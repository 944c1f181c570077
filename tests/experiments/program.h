// The program as a user calls it, in a folder that holds a small experiment.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "experiments/report/csv.h"
#include "tests/traces/small_trace.h"

namespace leanstream::experiments {

struct Ended {
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

// The bytes of every block of the small model's MLPs at `tiny_yaml`: 96 neurons of a layer in
// blocks of two, three rows of 64 weights of two bytes a neuron, padded to 512 bytes.
inline constexpr std::int64_t kTinyBlockBytes = 1024;
inline constexpr std::int64_t kTinyLayerBytes = 48 * kTinyBlockBytes;
inline constexpr std::int64_t kTinyMlpBytes = 4 * kTinyLayerBytes;

// tiny.yaml (a model), tiny.safetensors (a trace of it, 24 tokens) and sweep.yaml: four systems at
// two budgets, eight cells. The program's working folder is this one.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest();

  // Runs the program to its end. A sanitizer's report is a failed expectation.
  Ended run(const std::vector<std::string>& arguments);
  // Starts it only; wait_for() gives what run() does.
  pid_t start(const std::vector<std::string>& arguments);
  Ended wait_for(pid_t program);

  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string text(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;
  bool exists(const std::string& name) const;
  report::CsvTable table(const std::string& name) const;
  std::vector<std::string> files(const std::string& folder) const;  // names, sorted

 private:
  traces::TemporaryFolder folder_;
};

// sweep.yaml with a line replaced or, when `from` is empty, appended.
std::string changed_sweep(const std::string& from, const std::string& to);

}  // namespace leanstream::experiments
