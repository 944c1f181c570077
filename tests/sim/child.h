// One simulation a process: each simulated case runs in a child, whose expectations count here.
#pragma once

#include <cstdio>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace leanstream::sim {

// Runs `body` in a child; its failed expectations are printed there and fail the test here.
inline void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the child failed";
}

}  // namespace leanstream::sim
