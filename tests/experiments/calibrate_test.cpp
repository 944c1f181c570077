// `leanstream calibrate` from tables.
#include <fstream>

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

}  // namespace
}  // namespace leanstream::experiments
