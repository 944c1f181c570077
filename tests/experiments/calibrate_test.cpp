// `leanstream calibrate` from tables and of this machine.
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;
using CalibrateTest = ProgramTest;

const std::string kTable = LEANSTREAM_SOURCE_DIR "/platforms/measured/vm_disk.csv";

TEST_F(CalibrateTest, WritesAPlatformThatLoads) {
  const Ended ended = run({"calibrate", "--from-table", kTable, "--out", "disk.yaml"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("columns that are not read: reps, "));
  EXPECT_THAT(ended.out, HasSubstr("rate: median error "));
  EXPECT_THAT(ended.out, HasSubstr("512      64"));
  EXPECT_THAT(text("disk.yaml"), HasSubstr("source: fitted"));
  EXPECT_THAT(text("disk.yaml"), HasSubstr("vm_disk.csv"));
  EXPECT_EQ(run({"check", "disk.yaml"}).status, 0);
}

TEST_F(CalibrateTest, JudgesByTheOtherHalf) {
  const Ended ended = run({"calibrate", "--from-table", kTable, "--half", "1", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out);
  EXPECT_EQ(result.at("cells").size(), 20U);
  EXPECT_EQ(result.at("flash").at("batch"), 64);
  EXPECT_EQ(result.at("cells")[0].at("bytes"), 4096);
}

TEST_F(CalibrateTest, SaysWhatIsWrong) {
  EXPECT_THAT(run({"calibrate"}).err, HasSubstr("--from-table or --from-fio"));
  EXPECT_THAT(run({"calibrate", "--out", "here"}).err, HasSubstr("must end in .yaml"));
  EXPECT_THAT(run({"calibrate", "--out", "here.yaml", "--name", "there"}).err,
              HasSubstr("is here, not there"));
  EXPECT_THAT(run({"calibrate", "--half", "0"}).err, HasSubstr("--from-table or --from-fio"));
  EXPECT_THAT(run({"calibrate", "--name", "here", "--engine", "aio"}).err,
              HasSubstr("there is no engine 'aio'"));
  EXPECT_EQ(run({"calibrate", "--from-table", kTable, "--quick"}).status, 2);
  const Ended small = run({"calibrate", "--name", "here", "--file", "few.csv"});
  EXPECT_EQ(small.status, 2);
  EXPECT_FALSE(exists("here.samples.csv"));
  std::ofstream(path("bad.csv")) << "bs_kib,qd,iops\n4,1,x\n8,0,5\n";
  const Ended bad = run({"calibrate", "--from-table", "bad.csv", "--out", "bad.yaml"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.csv:2:1: error: 'iops' must be"));
  EXPECT_THAT(bad.err, HasSubstr("bad.csv:3:1: error: 'qd' must be"));
  EXPECT_FALSE(std::ifstream(path("bad.yaml")).good());
  std::ofstream(path("few.csv")) << "bs_kib,qd,iops\n4,1,100\n8,1,5\n";
  const Ended few = run({"calibrate", "--from-table", "few.csv"});
  EXPECT_EQ(few.status, 2);
  EXPECT_THAT(few.err, HasSubstr("too few for a fit"));
}

const std::vector<std::string> kMeasure{"calibrate", "--name",   "here",
                                        "--tiny",    "--engine", "pread"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(CalibrateTest, MeasuresThisMachine) {
  const Ended ended = run(kMeasure);
  if (ended.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << ended.err;
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("rate: median error "));
  EXPECT_THAT(ended.out, HasSubstr("attention 64 x 128"));
  EXPECT_THAT(ended.out, HasSubstr("here.yaml, its samples in here.samples.csv"));
  EXPECT_EQ(run({"check", "here.yaml"}).status, 0);
  const Ended listed = run({"list", "platforms", "here.yaml"});
  EXPECT_THAT(listed.out, HasSubstr("calibration, read_sizes: [4096,12288,40960]"));
  EXPECT_THAT(listed.out, HasSubstr("accelerator.start"));
  for (const std::string& file : files("")) EXPECT_THAT(file, testing::Not(HasSubstr(".image")));
  // A simulation can run on it.
  const Ended simulated = run({"sweep", "sweep.yaml", "--no-report", "platform=./here.yaml"});
  EXPECT_EQ(simulated.status, 0) << simulated.err;
}

TEST_F(CalibrateTest, ReadsTheFilesThatItIsGivenByTurns) {
  const std::string bytes(std::size_t{1} << 20, 'x');
  write("one.image", bytes);
  write("two.image", bytes);
  auto these = kMeasure;
  these.insert(these.end(), {"--file", "one.image", "two.image"});
  const Ended ended = run(these);
  if (ended.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << ended.err;
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(text("here.yaml"), HasSubstr("files: \"one.image and two.image\""));
  these.back() = "gone.image";
  EXPECT_THAT(run(these).err, HasSubstr("gone.image"));
  write("two.image", "short");
  these.back() = "two.image";
  EXPECT_THAT(run(these).err, HasSubstr("two.image is smaller than one read of 40 KiB"));
}

TEST_F(CalibrateTest, MeasuresMoreOfTheSame) {
  const Ended ended = run(kMeasure);
  if (ended.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << ended.err;
  const auto before = lines_of(text("here.samples.csv"));
  auto more = kMeasure;
  more.insert(more.end(), {"--repetitions", "3"});
  ASSERT_EQ(run(more).status, 0);
  const auto after = lines_of(text("here.samples.csv"));
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  EXPECT_THAT(text("here.yaml"), HasSubstr("median of 3"));
}

TEST_F(CalibrateTest, GoesOnWhereItWasKilled) {
  const pid_t program = start(kMeasure);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  while ((!exists("here.samples.csv") || lines_of(text("here.samples.csv")).size() < 20) &&
         std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(program, SIGKILL);
  wait_for(program);
  std::vector<std::string> before = lines_of(text("here.samples.csv"));
  before.resize(20);  // the rest as if it had not been reached
  std::string kept;
  for (const std::string& line : before) kept += line + "\n";
  write("here.samples.csv", kept + "storage,bytes=40");
  const Ended ended = run(kMeasure);
  if (ended.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << ended.err;
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("18 samples are there"));
  EXPECT_THAT(text("here.samples.csv"), testing::StartsWith(kept));
  const std::string all = text("here.samples.csv");
  const std::string platform = text("here.yaml");
  // Nothing is missing: nothing is measured, and the platform is the same.
  ASSERT_EQ(run(kMeasure).status, 0);
  EXPECT_EQ(text("here.samples.csv"), all);
  EXPECT_EQ(text("here.yaml"), platform);
  // Of other options these are no samples.
  std::vector<std::string> other = kMeasure;
  other.insert(other.end(), {"--threads", "2"});
  const Ended refused = run(other);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--fresh"));
  EXPECT_EQ(text("here.samples.csv"), all);
}

}  // namespace
}  // namespace leanstream::experiments
