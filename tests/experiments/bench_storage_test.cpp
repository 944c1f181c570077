// `leanstream bench storage` on a small temporary file.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;
using BenchStorageTest = ProgramTest;

TEST_F(BenchStorageTest, MeasuresEveryCellAndLeavesNoFile) {
  const Ended ended = run({"bench", "storage", "--size", "16", "--block-kib", "4,64", "--depth",
                           "1,8", "--seconds", "0.02", "--pairs", "2", "--json"});
  if (ended.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << ended.err;
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out);
  EXPECT_THAT(result.at("storage").get<std::string>(), HasSubstr("O_DIRECT"));
  ASSERT_EQ(result.at("cells").size(), 4U);
  for (const auto& cell : result.at("cells")) {
    EXPECT_EQ(cell.at("pairs"), 2);
    EXPECT_GT(cell.at("iops"), 0);
    EXPECT_GT(cell.at("cpu_us"), 0);
    EXPECT_GE(cell.at("latency_p99_us"), cell.at("latency_p50_us"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    EXPECT_NE(entry.path().extension(), ".image");
  }
}

TEST_F(BenchStorageTest, SaysWhatIsWrong) {
  const Ended missing = run({"bench", "storage", "--file", "no-such.image"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("no-such.image cannot be opened"));
  const Ended small = run({"bench", "storage", "--file", "tiny.yaml"});
  EXPECT_EQ(small.status, 2);
  EXPECT_THAT(small.err, testing::AnyOf(HasSubstr("smaller than one read"), HasSubstr("O_DIRECT")));
}

}  // namespace
}  // namespace leanstream::experiments
