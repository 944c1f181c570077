#include "experiments/report/process.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <spawn.h>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "engine/base/check.h"

namespace leanstream::report {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Temporary files instead of pipes: neither side can block on the other.
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

TemporaryFile temporary_file(const std::string& content = "") {
  TemporaryFile file(std::tmpfile());
  LEANSTREAM_CHECK(file, "no temporary file could be made");
  const std::size_t written = std::fwrite(content.data(), 1, content.size(), file.get());
  LEANSTREAM_CHECK(written == content.size(), "a temporary file could not be written");
  std::rewind(file.get());
  return file;
}

std::string read_all(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[1 << 14];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, got);
  return text;
}

// Waits for the child; kills it at the limit. True when it ended by itself.
bool wait_for(pid_t child, std::chrono::milliseconds limit, int& state) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    const pid_t ended = waitpid(child, &state, WNOHANG);
    LEANSTREAM_CHECK(ended >= 0, "lost a child process");
    if (ended == child) return true;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(child, SIGKILL);
  waitpid(child, &state, 0);
  return false;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const std::string& input,
                          std::chrono::milliseconds limit) {
  const TemporaryFile in = temporary_file(input);
  const TemporaryFile out = temporary_file();
  const TemporaryFile error = temporary_file();
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(error.get()), STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);

  ProcessResult result;
  if (failed != 0) {
    result.end = ProcessResult::End::not_found;
    return result;
  }
  int state = 0;
  if (!wait_for(child, limit, state)) result.end = ProcessResult::End::timed_out;
  result.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  result.out = read_all(out.get());
  result.error = read_all(error.get());
  return result;
}

}  // namespace leanstream::report
