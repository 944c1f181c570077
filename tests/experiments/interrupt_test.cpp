// A sweep that is interrupted leaves complete files or none.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using std::chrono::steady_clock;

class InterruptTest : public ProgramTest {
 protected:
  // Starts a sweep far too long to end, interrupts it once `name` is there.
  Ended interrupted_at(const std::string& name) {
    std::string seeds = "  seed: [0";
    for (int i = 1; i < 1200; ++i) seeds += ", " + std::to_string(i);
    write("sweep.yaml", changed_sweep("", seeds + "]\n"));
    const pid_t program = start({"sweep", "sweep.yaml", "--out", "o"});
    const auto limit = steady_clock::now() + std::chrono::seconds(200);
    while (!exists(name) && steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(exists(name));
    ::kill(program, SIGINT);
    return wait_for(program);
  }
};

TEST_F(InterruptTest, BeforeTheFirstResults) {
  const Ended ended = interrupted_at("o/manifest.json");
  EXPECT_EQ(ended.status, 128 + SIGINT);
  EXPECT_EQ(nlohmann::json::parse(text("o/manifest.json")).at("cells"), 9600);
  EXPECT_THAT(files("o"), testing::Not(testing::Contains("report.html")));
}

TEST_F(InterruptTest, WhatIsWrittenIsComplete) {
  const Ended ended = interrupted_at("o/timing.csv");
  EXPECT_EQ(ended.status, 128 + SIGINT);
  const auto results = table("o/results.csv");
  EXPECT_EQ(results.rows.size(), table("o/timing.csv").rows.size());
  EXPECT_EQ(results.rows.size() * 18, table("o/tokens.csv").rows.size());
  EXPECT_GT(results.rows.size(), 0u);
  EXPECT_EQ(text("o/results.csv").back(), '\n');
}

}  // namespace
}  // namespace leanstream::experiments
