// sweep --audit: which cells are run twice, what counts as a difference, what is printed.
#include "experiments/run/audit.h"

#include <cmath>

#include <gmock/gmock.h>

#include "engine/backend/log_file.h"
#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using run::audited_cells;
using run::Repeat;
using run::repeat_difference;
using testing::AllOf;
using testing::HasSubstr;

TEST(AuditedCellsTest, AreAShareAtLeastOneAndChosenByTheSeed) {
  EXPECT_EQ(audited_cells(1, 0.05, 1), std::vector<std::size_t>{0});
  EXPECT_EQ(audited_cells(8, 0.01, 1).size(), 1u);
  EXPECT_EQ(audited_cells(200, 0.05, 1).size(), 10u);
  EXPECT_EQ(audited_cells(200, 0.05, 1), audited_cells(200, 0.05, 1));
  EXPECT_NE(audited_cells(200, 0.05, 1), audited_cells(200, 0.05, 2));
  const auto all = audited_cells(50, 1, 3);
  ASSERT_EQ(all.size(), 50u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
}

TEST(AuditedCellsTest, EveryCellHasTheSameChance) {
  std::vector<int> times(10);
  constexpr int kSeeds = 4000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    for (const auto cell : audited_cells(10, 0.3, static_cast<std::uint64_t>(seed))) ++times[cell];
  }
  const double expected = 0.3 * kSeeds, sigma = std::sqrt(kSeeds * 0.3 * 0.7);
  for (const int n : times) EXPECT_NEAR(n, expected, 5 * sigma);
}

class AuditTest : public ProgramTest {
 protected:
  // A log of two waits, and what the process of its run said.
  Repeat repeat(const std::string& name, TimeNs second_ns, const std::string& row) {
    backend::LogWriter log(path(name), "");
    scheduler::Command command;
    std::vector<scheduler::Completion> done(1);
    for (const TimeNs time_ns : {TimeNs{100}, second_ns}) {
      ++command.ticket;
      log.commands({&command, 1});
      done[0].ticket = command.ticket;
      done[0].time_ns = time_ns;
      log.wait(done, std::vector<std::uint64_t>{0});
    }
    log.finish({});
    return {{true, 0,
             R"({"result": [")" + row + R"("], "tokens": [], "failure": "", "timing": [")" + name +
                 R"("]})"},
            path(name)};
  }
};

TEST_F(AuditTest, ComparesEventsAndThenResults) {
  const Repeat first = repeat("a", 200, "12.5");
  EXPECT_EQ(repeat_difference(first, repeat("b", 200, "12.5")), "") << "wall-clock time may differ";
  EXPECT_THAT(repeat_difference(first, repeat("c", 201, "12.5")),
              AllOf(HasSubstr("batch 1: the time (ns) is 200 in the first run, 201 in the second"),
                    HasSubstr("before it:\n"), HasSubstr("read, ticket 1 is done: ok"),
                    HasSubstr("read, ticket 2")));
  EXPECT_THAT(
      repeat_difference(first, repeat("d", 200, "12.6")),
      AllOf(HasSubstr("the same events, but result"), HasSubstr("12.5"), HasSubstr("12.6")));
}

TEST_F(AuditTest, ARunThatEndsOtherwiseDiffers) {
  const Repeat whole = repeat("a", 200, "1");
  const Repeat fallen{{false, 139, ""}, path("none")};
  EXPECT_EQ(repeat_difference(whole, fallen),
            "the first run ended with status 0, the second with 139");
  EXPECT_EQ(repeat_difference(fallen, fallen), "") << "it failed twice alike";
}

TEST_F(AuditTest, ASweepSaysWhatItRepeated) {
  const Ended ended = run({"sweep", "sweep.yaml", "--audit", "25%", "--no-report", "--out", "o"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, HasSubstr("\naudit: 2 of 8 cells run twice, 0 differ\n"));
  EXPECT_THAT(files("o"),
              testing::ElementsAre("manifest.json", "results.csv", "timing.csv", "tokens.csv"));
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--no-report", "--out", "p"}).status, 0);
  EXPECT_EQ(text("o/results.csv"), text("p/results.csv")) << "the audit changes no result";
}

TEST_F(AuditTest, JsonStaysAlone) {
  const Ended ended = run({"sweep", "sweep.yaml", "--audit", "1%", "--json"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, testing::StartsWith("["));
  EXPECT_EQ(ended.err, "audit: 1 of 8 cells run twice, 0 differ\n");
}

TEST_F(AuditTest, TheShareIsChecked) {
  for (const char* share : {"0", "-1%", "101%", "five", "5 s", ""}) {
    const Ended ended = run({"sweep", "sweep.yaml", "--audit", share});
    EXPECT_EQ(ended.status, 2) << share;
    EXPECT_THAT(ended.err, HasSubstr("--audit")) << share;
    EXPECT_FALSE(exists("out")) << share;
  }
}

}  // namespace
}  // namespace leanstream::experiments
