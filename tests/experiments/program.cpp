#include "tests/experiments/program.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "engine/base/atomic_file.h"

namespace leanstream::experiments {
namespace {

constexpr const char* kTinyModel = R"(kind: model
description: four layers for tests
reference: none
layers: 4
hidden: 64
ffn: 96
heads: 4
kv_heads: 2
vocab: 256
tied_embeddings: true
bytes_per_weight: 2
)";

constexpr const char* kSweep = R"(kind: experiment
name: tiny
description: four systems on four layers
platform: jetson-agx-orin
model: ./tiny.yaml
system: leanstream
trace: tiny.safetensors
prompt_tokens: 6
density: 30%
block_neurons: 2
memory_budget: 75% of mlp
seed: 3
sweep:
  system: [dense, llm_in_a_flash, dejavu, leanstream]
  memory_budget: [75% of mlp, 100% of mlp]
)";

void write_tiny_trace(const std::string& path) {
  const traces::SmallShape shape{24, 4, 64, 96};
  traces::TraceWriter writer(traces::small_info(shape), shape.tokens);
  writer.set_importance(traces::random_importance(shape, 1));
  std::vector<float> nll(static_cast<std::size_t>(shape.tokens), 2.0F);
  writer.set_nll(nll);
  std::vector<float> recall(static_cast<std::size_t>(shape.layers) * traces::kFeatures, 0.8F);
  writer.set_recall(recall, 0.3);
  writer.write(path);
}

void redirect(int fd, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, fd) < 0) ::_exit(126);
}

}  // namespace

ProgramTest::ProgramTest() {
  write("tiny.yaml", kTinyModel);
  write("sweep.yaml", kSweep);
  write_tiny_trace(path("tiny.safetensors"));
}

pid_t ProgramTest::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{LEANSTREAM_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string folder = path("");
  const pid_t program = ::fork();
  if (program != 0) return program;
  redirect(STDOUT_FILENO, path(".stdout"));
  redirect(STDERR_FILENO, path(".stderr"));
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Ended ProgramTest::wait_for(pid_t program) {
  int status = 0;
  EXPECT_EQ(::waitpid(program, &status, 0), program);
  Ended ended;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.out = text(".stdout");
  ended.err = text(".stderr");
  for (const char* report : {"Sanitizer", "runtime error:", "leanstream: bug"}) {
    EXPECT_THAT(ended.err, testing::Not(testing::HasSubstr(report)));
  }
  return ended;
}

Ended ProgramTest::run(const std::vector<std::string>& arguments) {
  return wait_for(start(arguments));
}

std::string ProgramTest::text(const std::string& name) const {
  return read_file(path(name));
}

void ProgramTest::write(const std::string& name, const std::string& text) const {
  write_file(path(name), text);
}

bool ProgramTest::exists(const std::string& name) const {
  return std::filesystem::exists(path(name));
}

report::CsvTable ProgramTest::table(const std::string& name) const {
  return report::CsvTable::read(path(name));
}

std::vector<std::string> ProgramTest::files(const std::string& folder) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path(folder))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string changed_sweep(const std::string& from, const std::string& to) {
  std::string text = kSweep;
  if (from.empty()) return text + to;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace leanstream::experiments
