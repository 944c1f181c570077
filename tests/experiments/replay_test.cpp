// Logs through the command line: a recorded run replays to the same results, in a build of any
// worlds, and whatever is wrong is said.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/backend/log_file.h"
#include "engine/backend/world.h"
#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

// The simulated world where it is built in, else the null device.
std::string recorded_world() {
  for (const auto& world : backend::worlds()) {
    if (world.name == "sim") return "sim";
  }
  return "null";
}

class ReplayCommandTest : public ProgramTest {
 protected:
  ReplayCommandTest() { write("sweep.yaml", changed_sweep("", "tokens: 16\n")); }

  // One cell, `more` after it.
  static Words cell(const Words& more, const std::string& system = "leanstream",
                    const std::string& budget = "75% of mlp") {
    Words words{"run", "sweep.yaml", "system=" + system, "memory_budget=" + budget};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ended record(const std::string& log, const std::string& system = "leanstream",
               const std::string& budget = "75% of mlp") {
    return run(cell({"--backend=" + recorded_world(), "--log-completions", log, "--out", "o"},
                    system, budget));
  }
  Ended replay(const std::string& log, const Words& more = {}) {
    Words words{"--backend=replay", "--log", log, "--out", "r"};
    words.insert(words.end(), more.begin(), more.end());
    return run(cell(words));
  }
  void refused(const Words& words, const std::string& what) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(ended.err, HasSubstr(what));
    EXPECT_FALSE(exists("out"));
  }
};

TEST_F(ReplayCommandTest, EverySystemRepeatsItsResults) {
  const std::string folder = std::string(LEANSTREAM_SOURCE_DIR) + "/experiments/systems";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string system = file.path().stem().string();
    for (const char* budget : {"75% of mlp", "100% of mlp"}) {
      SCOPED_TRACE(system + " at " + budget);
      const Ended first = record("a.log", system, budget);
      ASSERT_EQ(first.status, 0) << first.err;
      const Ended second =
          run(cell({"--backend=replay", "--log", "a.log", "--out", "r"}, system, budget));
      ASSERT_EQ(second.status, 0) << second.err;
      EXPECT_EQ(second.err, "");
      auto expected = table("o/results.csv");
      expected.rows[0][*expected.column("backend")] = "replay";
      EXPECT_EQ(text("r/results.csv"), expected.to_text());
      EXPECT_EQ(text("r/tokens.csv"), text("o/tokens.csv"));
    }
  }
}

TEST_F(ReplayCommandTest, TheHeaderSaysWhatTheRunWas) {
  ASSERT_EQ(record("logs/a.log").status, 0) << "missing folders are made";
  const auto log = backend::read_through(path("logs/a.log"));
  const auto header = nlohmann::json::parse(log.header);
  EXPECT_EQ(header.at("name"), "tiny");
  EXPECT_EQ(header.at("system"), "leanstream");
  EXPECT_EQ(header.at("trace"), "tiny.safetensors");
  EXPECT_NE(header.at("tool").at("commit"), "");
  EXPECT_EQ(header.at("run").at("experiment").at("seed"), 3);
  EXPECT_EQ(header.at("run").at("trace").at("hash").get<std::string>().size(), 32u);
  EXPECT_EQ(header.at("run").at("slots"), kTinyMlpBytes * 3 / 4 / kTinyBlockBytes);
  EXPECT_EQ(header.at("run").at("block_bytes"), kTinyBlockBytes);
  ASSERT_TRUE(log.end);
  const auto results = nlohmann::json::parse(log.end->results);
  EXPECT_EQ(results.at("tokens_per_s"), table("o/results.csv").text(0, "tokens_per_s"));
  EXPECT_EQ(results.at("commands_hash"), log.end->commands_hash);
  EXPECT_EQ(results.at("failure"), "");
}

TEST_F(ReplayCommandTest, NamesAndNotationDoNotMatter) {
  ASSERT_EQ(record("a.log").status, 0);
  const Ended ended =
      replay("a.log", {"memory_budget=" + std::to_string(kTinyMlpBytes * 3 / 4) + " B",
                       "name=other", "description=the same run", "density=0.3"});
  EXPECT_EQ(ended.status, 0) << ended.err;
}

TEST_F(ReplayCommandTest, AnotherExperimentIsNamedDifferenceByDifference) {
  ASSERT_EQ(record("a.log").status, 0);
  const Ended ended =
      replay("a.log", {"density=40%", "seed=4", "system_changes.controller.omega_io=7",
                       "platform_changes.flash.latency=1 ms"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("a.log: the log of another run (leanstream of tiny, "),
                               HasSubstr("\n  density is 0.3 in the log, 0.4 now"),
                               HasSubstr("experiment.seed is 3 in the log, 4 now"),
                               HasSubstr("system.controller.omega_io"),
                               HasSubstr("platform.flash.latency is ")));
  EXPECT_THAT(ended.err, Not(HasSubstr("model.")));
  EXPECT_FALSE(exists("r")) << "nothing is written";
}

TEST_F(ReplayCommandTest, OptionsThatDoNotGoTogether) {
  ASSERT_EQ(record("a.log").status, 0);
  const std::string world = "--backend=" + recorded_world();
  refused(cell({"--backend=replay"}), "backend 'replay' plays a completion log; name it (--log");
  refused(cell({world, "--log", "a.log"}), "plays no log, but a.log was given");
  refused({"sweep", "sweep.yaml", world, "--log-completions", "b.log"},
          "--log-completions is of one run, but sweep.yaml has 8 cells");
  refused({"sweep", "sweep.yaml", "--backend=replay", "--log", "a.log"},
          "--log is of one run, but sweep.yaml has 8 cells");
  refused(cell({"--backend=replay", "--log", "a.log", "--log-completions", "./a.log"}),
          "cannot be played and written at once");
  refused(cell({world, "--log-completions", "tiny.yaml/x.log"}), "tiny.yaml/x.log: ");
  refused(cell({"--backend=replay", "--log", "none.log"}), "none.log");
  EXPECT_EQ(backend::read_through(path("a.log")).end.has_value(), true) << "it is still there";
}

TEST_F(ReplayCommandTest, BrokenLogsAreTheUsersFault) {
  ASSERT_EQ(record("a.log").status, 0);
  const std::string whole = text("a.log");
  RandomStream random(1, "test.broken");
  for (int i = 0; i < 12; ++i) {
    std::string flipped = whole;
    const std::size_t at = random.next_below(whole.size());
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    write("flipped.log", flipped);
    refused(cell({"--backend=replay", "--log", "flipped.log"}), "flipped.log: ");
  }
  refused(cell({"--backend=replay", "--log", "tiny.yaml"}), "tiny.yaml: no completion log");
  backend::LogWriter(path("strange.log"), "not JSON").finish({});
  refused(cell({"--backend=replay", "--log", "strange.log"}), "its header is not that of a run");
}

TEST_F(ReplayCommandTest, ALogThatWasCutFailsWhereItEnds) {
  ASSERT_EQ(record("a.log").status, 0);
  const std::string whole = text("a.log");
  int refusals = 0, ends = 0;
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += whole.size() / 16) {
    write("cut.log", whole.substr(0, bytes));
    const Ended ended = replay("cut.log");
    if (ended.status == 2) {
      ++refusals;
      EXPECT_THAT(ended.err,
                  testing::AnyOf(HasSubstr("no completion log"), HasSubstr("within its header")));
    } else {
      ++ends;
      EXPECT_EQ(ended.status, 1) << bytes;
      EXPECT_THAT(ended.err, HasSubstr("cut.log was cut (or its run was interrupted) after batch"));
      EXPECT_THAT(table("r/results.csv").text(0, "failure"), HasSubstr("nothing differs"));
    }
  }
  EXPECT_GT(refusals, 0);
  EXPECT_GT(ends, 0);
}

// A copy of a log with its batches and its end mark changed.
void rewrite(const std::string& from, const std::string& to,
             const std::function<void(std::int64_t, backend::LogBatch&)>& edit,
             const std::function<void(backend::LogEnd&)>& edit_end) {
  backend::LogReader reader(from);
  backend::LogWriter writer(to, reader.header());
  backend::LogBatch batch;
  for (std::int64_t i = 0; reader.next(batch); ++i) {
    edit(i, batch);
    writer.commands(batch.commands);
    writer.wait(batch.completions, batch.scores_hash);
  }
  backend::LogEnd end = *reader.end();
  edit_end(end);
  writer.finish(end);
}

TEST_F(ReplayCommandTest, AChangedCommandIsStatusOneAndShowsBoth) {
  ASSERT_EQ(record("a.log").status, 0);
  rewrite(
      path("a.log"), path("b.log"),
      [](std::int64_t i, backend::LogBatch& batch) {
        if (i == 20) batch.commands.front().token += 1;
      },
      [](backend::LogEnd&) {});
  const Ended ended = replay("b.log");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("leanstream: differs from b.log in batch 20, at "),
                               HasSubstr(": token is "), HasSubstr("\n  in the log  "),
                               HasSubstr("\n  now         "), HasSubstr("\nbefore it:\n")));
  const auto results = table("r/results.csv");
  EXPECT_THAT(results.text(0, "failure"),
              AllOf(HasSubstr("differs from b.log in batch 20"), Not(HasSubstr("\n"))));
  EXPECT_EQ(results.text(0, "tokens_per_s"), "") << "no figures of a run that stopped";
}

TEST_F(ReplayCommandTest, OtherResultsFromTheSameEventsAreStatusOne) {
  ASSERT_EQ(record("a.log").status, 0);
  rewrite(
      path("a.log"), path("b.log"), [](std::int64_t, backend::LogBatch&) {},
      [](backend::LogEnd& end) {
        auto results = nlohmann::json::parse(end.results);
        results["tokens_per_s"] = "12";
        results["a_new_metric"] = "7";
        end.results = results.dump();
      });
  const Ended ended = replay("b.log");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("the same commands and completions as b.log, but other"),
                               HasSubstr("tokens_per_s is 12 in the log, "),
                               HasSubstr("a_new_metric is 7 in the log, missing now")));
}

TEST_F(ReplayCommandTest, AFailedRunLeavesALogThatFailsAlike) {
  const Words failing{"platform_changes.flash.latency=1 s", "stall_timeout=1 ms"};
  if (recorded_world() != "sim") GTEST_SKIP() << "the null device does not fail";
  Words words = cell({"--log-completions", "a.log", "--out", "o"}, "dense");
  words.insert(words.end(), failing.begin(), failing.end());
  const Ended first = run(words);
  EXPECT_EQ(first.status, 1);
  words = cell({"--backend=replay", "--log", "a.log", "--out", "r"}, "dense");
  words.insert(words.end(), failing.begin(), failing.end());
  const Ended second = run(words);
  EXPECT_EQ(second.status, 1);
  EXPECT_EQ(second.err, first.err);
  EXPECT_THAT(second.err, HasSubstr("no device answered"));
}

TEST_F(ReplayCommandTest, TheNullDeviceRunsEverySystemAndRepeats) {
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--backend=null", "--no-report", "--out", "a"}).status, 0);
  ASSERT_EQ(run({"sweep", "sweep.yaml", "--backend=null", "--no-report", "--out", "b"}).status, 0);
  EXPECT_EQ(text("a/results.csv"), text("b/results.csv"));
  const auto results = table("a/results.csv");
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    EXPECT_EQ(results.text(row, "backend"), "null");
    EXPECT_EQ(results.text(row, "compute_ms"), "0");
    EXPECT_GT(results.number(row, "tokens_per_s").value_or(0), 1000);
  }
}

}  // namespace
}  // namespace leanstream::experiments
