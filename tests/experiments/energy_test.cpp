// Energy and heat through the command line: a run added up by hand, throttling, replay, and what
// stays unknown.
#include <cmath>

#include <gmock/gmock.h>

#include "engine/backend/world.h"
#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

// Everything in memory, a bus of a byte a nanosecond; 500 MB/s for the MLP.
const Words kRound{
    "platform_changes={accelerator: {bandwidth: 1 GB/s, mlp_bandwidth: 0.5 GB/s, "
    "compute: 1 PFLOPS, device_segment: 10 us}, cpu: {cores: 10}, energy: {board: "
    "2 W, accelerator: {idle: 1 W, active: 11 W}, cpu: {idle: 0.5 W, core: 1.5 W}, "
    "flash: {idle: 0.25 W}, memory: {idle: 0.75 W, byte: 40 pJ/B}}}"};

bool has_sim() {
  for (const auto& world : backend::worlds()) {
    if (world.name == "sim") return true;
  }
  return false;
}

class EnergyTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (!has_sim()) GTEST_SKIP() << "without SimGrid";
  }

  report::CsvTable results(const Words& more, const std::string& system = "dense",
                           const std::string& out = "o") {
    Words words{"run", "sweep.yaml", "system=" + system, "memory_budget=100% of mlp", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return table(out + "/results.csv");
  }
};

double figure(const report::CsvTable& results, const std::string& name) {
  return results.number(0, name).value_or(std::nan(""));
}

// Token t of 18 takes, in each of four layers, 24,576 + 128 · (t + 1) ns of attention, 10,000 of
// synchronisation and 73,728 of MLP, then 32,768 of head. Nothing is read or predicted. The host
// looks for 10 µs of each wait: of attention, MLP and head.
TEST_F(EnergyTest, ARunAddedUpByHand) {
  const auto o = results(kRound);
  double time = 0, work = 0, host = 0, bytes = 0;
  for (int t = 6; t < 24; ++t) {
    const double attention = 24'576 + 128 * (t + 1);
    time += 4 * (attention + 10'000 + 73'728) + 32'768;
    work += 4 * (attention + 73'728) + 32'768;
    host += 4 * 20'000 + 10'000;
    bytes += 4 * (attention + 36'864) + 32'768;
  }
  EXPECT_NEAR(figure(o, "tokens_per_s"), 18e9 / time, 1e-6);
  EXPECT_NEAR(figure(o, "cpu_busy_ratio"), host / (10 * time), 1e-12);
  const double s = 1e-9 / 18;  // of a token, from ns of all
  EXPECT_NEAR(figure(o, "energy_j_board"), 2 * time * s, 1e-12);
  EXPECT_NEAR(figure(o, "energy_j_accelerator"), (time + 10 * work) * s, 1e-12);
  EXPECT_NEAR(figure(o, "energy_j_cpu"), (0.5 * time + 1.5 * host) * s, 1e-12);
  EXPECT_NEAR(figure(o, "energy_j_flash"), 0.25 * time * s, 1e-12);
  EXPECT_NEAR(figure(o, "energy_j_memory"), 0.75 * time * s + 4e-11 * bytes / 18, 1e-12);
  EXPECT_NEAR(figure(o, "energy_j_per_token"),
              (4.5 * time + 10 * work + 1.5 * host) * s + 4e-11 * bytes / 18, 1e-12);
  const auto tokens = table("o/tokens.csv");
  double sum = 0;
  for (std::size_t row = 0; row < 18; ++row) sum += tokens.number(row, "energy_j").value_or(0);
  EXPECT_NEAR(sum / 18, figure(o, "energy_j_per_token"), 1e-12);
}

TEST_F(EnergyTest, AHotDeviceIsSlowerUnlessItMayNotThrottle) {
  const auto cool = results(kRound);
  auto words = kRound;
  words.push_back("thermal.start=99 C");
  const auto hot = results(words, "dense", "hot");
  words.push_back("thermal.throttle=false");
  const auto free = results(words, "dense", "free");
  // Heat passes slowly: all of the run is throttled, and takes twice as long.
  EXPECT_NEAR(figure(hot, "tokens_per_s") / figure(cool, "tokens_per_s"), 0.5, 1e-6);
  EXPECT_EQ(figure(hot, "throttled_ratio"), 1);
  EXPECT_EQ(figure(cool, "throttled_ratio"), 0);
  EXPECT_EQ(free.text(0, "tokens_per_s"), cool.text(0, "tokens_per_s"));
  EXPECT_EQ(free.text(0, "energy_j_per_token"), cool.text(0, "energy_j_per_token"));
  EXPECT_EQ(free.text(0, "throttled_ratio"), "0");
  EXPECT_EQ(free.text(0, "gpu_temp_c_peak"), "99") << "it began there and cools";
  EXPECT_EQ(hot.text(0, "gpu_temp_c_peak"), "99");
  EXPECT_LT(figure(cool, "gpu_temp_c_peak"), 26);
  EXPECT_GT(figure(cool, "gpu_temp_c_peak"), 25);
}

TEST_F(EnergyTest, ReplayGivesTheSameEnergy) {
  for (const char* start : {"25 C", "98.9 C", "99 C"}) {
    SCOPED_TRACE(start);
    const Words words{std::string("thermal.start=") + start, "memory_budget=75% of mlp",
                      "--log-completions", "run.log"};
    auto expected = results(words, "leanstream");
    results({words[0], words[1], "--backend=replay", "--log", "run.log"}, "leanstream", "r");
    expected.rows[0][*expected.column("backend")] = "replay";
    EXPECT_EQ(text("r/results.csv"), expected.to_text());
    EXPECT_EQ(text("r/tokens.csv"), text("o/tokens.csv"));
  }
  const Ended other = run({"run", "sweep.yaml", "system=leanstream", "memory_budget=75% of mlp",
                           "--backend=replay", "--log", "run.log"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("thermal"));
}

// Only what the platform's figures time can be slowed by them.
TEST_F(EnergyTest, AnotherWorldsDevicesAreNotThrottled) {
  const Words words{"thermal.start=99 C", "--backend=null", "--log-completions", "null.log"};
  const auto o = results(words, "leanstream");
  EXPECT_EQ(o.text(0, "throttled_ratio"), "0");
  EXPECT_EQ(o.text(0, "gpu_temp_c_peak"), "99");
  const auto r = results({words[0], "--backend=replay", "--log", "null.log"}, "leanstream", "r");
  EXPECT_EQ(r.text(0, "throttled_ratio"), "0");
  EXPECT_EQ(r.text(0, "energy_j_per_token"), o.text(0, "energy_j_per_token"));
}

TEST_F(EnergyTest, WhatAPlatformDoesNotStateIsUnknown) {
  const auto o = results({"platform=jetson-agx-xavier"});
  for (const char* name : {"cpu_busy_ratio", "energy_j_per_token", "energy_j_flash",
                           "gpu_temp_c_peak", "cpu_temp_c_peak", "throttled_ratio"}) {
    EXPECT_EQ(o.text(0, name), "") << name;
  }
  EXPECT_EQ(table("o/tokens.csv").text(0, "energy_j"), "");
  const auto phone = results({"platform=oneplus-13"});
  EXPECT_GT(figure(phone, "energy_j_per_token"), 0);
  EXPECT_EQ(phone.text(0, "gpu_temp_c_peak"), "") << "it says nothing of heat";
}

TEST_F(EnergyTest, ResultsNameTheGuessesTheyRestOn) {
  const std::string sparse = results({}, "leanstream").text(0, "assumed");
  EXPECT_THAT(sparse, HasSubstr("flash.queue_depth"));
  EXPECT_THAT(sparse, HasSubstr("energy.accelerator.polling"));
  EXPECT_THAT(sparse, Not(HasSubstr("polling_segment"))) << "of another synchronisation";
  EXPECT_THAT(results({}).text(0, "assumed"), Not(HasSubstr("energy.accelerator.polling")));
  EXPECT_THAT(results({"platform_changes.predictors.stacked_hash.time=1 ms"}, "leanstream")
                  .text(0, "assumed"),
              HasSubstr("predictors.stacked_hash.time"))
      << "what an experiment changes is a guess";
  const std::string null = results({"--backend=null"}, "leanstream").text(0, "assumed");
  EXPECT_THAT(null, Not(HasSubstr("flash.stream_bandwidth"))) << "it took no time from there";
  EXPECT_THAT(null, HasSubstr("energy.board"));
}

TEST_F(EnergyTest, WrongFiguresAreRefused) {
  const auto refused = [&](const std::string& change, const std::string& why) {
    const Ended ended = run({"run", "sweep.yaml", "system=dense", "memory_budget=100% of mlp",
                             "platform_changes=" + change});
    EXPECT_EQ(ended.status, 2) << change;
    EXPECT_THAT(ended.err, HasSubstr(why));
  };
  refused("{energy: {board: 7}}", "has no unit");
  refused("{thermal: {cpu: {limit: 20 C}}}", "must be above the ambient");
  refused("{thermal: {flash: {throttled_rate: 0}}}", "throttled_rate");
}

}  // namespace
}  // namespace leanstream::experiments
