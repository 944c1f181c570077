#include "experiments/run/child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::run {
namespace {

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // the parent is gone
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// `parent`: with it the child ends, lest a killed run go on unseen on the devices.
[[noreturn]] void child(pid_t parent, int fd, const std::function<std::string()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(70);
  int status = 0;
  std::string text;
  try {
    text = work();
  } catch (const UserError& error) {
    text = error.what();
    status = 2;
  } catch (const std::exception& error) {
    text = error.what();
    status = 70;
  }
  write_all(fd, text);
  std::fflush(stderr);
  ::_exit(status);
}

}  // namespace

ChildOutcome in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) throw UserError("cannot start a run: {}", std::strerror(errno));
  std::fflush(nullptr);  // or the child would print it again
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw UserError("cannot start a run: {}", std::strerror(errno));
  if (pid == 0) {
    ::close(ends[0]);
    child(parent, ends[1], work);
  }
  ::close(ends[1]);
  ChildOutcome outcome;
  outcome.text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) LEANSTREAM_CHECK(errno == EINTR, "a child was lost");
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.ended = outcome.status == 0;
  return outcome;
}

}  // namespace leanstream::run
