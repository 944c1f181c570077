// Caches over a trace, and its block accesses, through the command line.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class TraceCachesTest : public ProgramTest {
 protected:
  json misses(const Words& more) {
    Words words{"trace", "misses", "tiny.safetensors", "--density", "0.25", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.status == 0 ? json::parse(ended.out) : json();
  }
};

TEST_F(TraceCachesTest, FilesHoldWhatIsPrinted) {
  const json said = misses({"--policy", "lru,fifo,belady", "--sizes", "25%,50%,100%", "--warm-up",
                            "4", "--out", "curves"});
  EXPECT_EQ(said.at("wanted"), 20 * 4 * 24);
  EXPECT_EQ(said.at("slots"), json({96, 192, 384}));
  const auto table = ProgramTest::table("curves/misses.csv");
  EXPECT_EQ(table.rows.size(), 9);
  EXPECT_TRUE(exists("curves/misses.svg"));
  for (const json& policy : said.at("policies")) {
    const auto counts = policy.at("misses").get<std::vector<std::int64_t>>();
    EXPECT_GE(counts[0], counts[1]);
    EXPECT_GE(counts[1], counts[2]);
    const auto bound = said.at("policies").back().at("misses").get<std::vector<std::int64_t>>();
    for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_GE(counts[i], bound[i]) << policy;
  }
}

TEST_F(TraceCachesTest, AccessesAreWrittenToTheByte) {
  const Words words{"trace", "export", "tiny.safetensors", "--density", "0.25", "--out"};
  const auto write_as = [&](const std::string& format, const std::string& file) {
    Words all = words;
    all.insert(all.end(), {file, "--format", format});
    const Ended ended = run(all);
    ASSERT_EQ(ended.status, 0) << ended.err;
  };
  write_as("csv", "a.csv");
  write_as("oracleGeneral", "a.bin");
  const auto table = ProgramTest::table("a.csv");
  const std::string bytes = text("a.bin");
  const std::size_t accesses = 24 * 4 * 24;
  ASSERT_EQ(table.rows.size(), accesses);
  ASSERT_EQ(bytes.size(), 24 * accesses);
  const auto field = [&](std::size_t at, auto value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  for (std::size_t i = 0; i < accesses; i += 97) {
    const auto number = [&](const char* name) { return std::llround(*table.number(i, name)); };
    EXPECT_EQ(field(24 * i, std::uint32_t{}), number("token"));
    const auto object = field(24 * i + 4, std::uint64_t{});
    EXPECT_EQ(object, 1 + number("layer") * 96 + number("block"));
    EXPECT_EQ(field(24 * i + 12, std::uint32_t{}), 1);
    const auto next = field(24 * i + 16, std::int64_t{});
    if (next < 0) continue;
    EXPECT_EQ(field(24 * static_cast<std::size_t>(next) + 4, std::uint64_t{}), object);
  }
}

TEST_F(TraceCachesTest, WhatIsWrongIsSaid) {
  const auto refused = [&](const Words& more, const std::string& message) {
    Words words{"trace", "misses", "tiny.safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(ended.err, HasSubstr(message));
  };
  refused({"--policy", "lruu"}, "unknown cache policy 'lruu'");
  refused({"--sizes", "200%"}, "--sizes 200%: shares of all blocks");
  refused({"--density", "0"}, "density");
  EXPECT_EQ(run({"trace", "misses", "none.safetensors"}).status, 2);
  EXPECT_EQ(run({"trace", "export", "tiny.safetensors", "--density", "2", "--out", "f"}).status, 2);
  EXPECT_FALSE(exists("f"));
}

TEST_F(TraceCachesTest, ABenchPrintsRatios) {
  const Ended ended = run(
      {"bench", "caches", "tiny.safetensors", "--rounds", "1", "--only", "clock,belady", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json rows = json::parse(ended.out);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].at("ratio"), 1);
  EXPECT_EQ(rows[1].at("cache"), "clock");
  EXPECT_GT(rows[2].at("accesses_per_s"), 0);
}

}  // namespace
}  // namespace leanstream::experiments
