// Replay: what was recorded repeats; what was tampered with, or is another run, does not.
#include "engine/backend/replay.h"

#include <gmock/gmock.h>

#include "engine/backend/log_text.h"
#include "engine/backend/recording.h"
#include "engine/backend/run_loop.h"
#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "tests/backend/small_log.h"

namespace leanstream::backend {
namespace {

using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::FinalAt;
using scheduler::SmallRun;
using scheduler::Status;
using testing::AllOf;
using testing::HasSubstr;

class ReplayTest : public LogTest {
 protected:
  // The same, and the message of a UserError.
  std::string refusal(const SmallRun& run, const std::string& log) {
    try {
      return "not refused: " + replay(run, log);
    } catch (const UserError& error) {
      return error.what();
    }
  }
};

// A run that reads in decode as well.
SmallRun reading(const std::string& cache = "lru") {
  SmallRun run;
  run.slots = 14;
  run.cache = cache;
  return run;
}

std::vector<SmallRun> runs() {
  std::vector<SmallRun> all(6);
  all[1].predictor = "all", all[1].loader = "stream", all[1].cache = "pinned";
  all[2].final_at = FinalAt::own_input, all[2].loader = "on_demand";
  all[3].controller = "{policy: one_shot_ahead}", all[3].loader = "after_prediction";
  all[4].slots = 14, all[4].controller = "{policy: static, omega_io: 4, omega_gpu: 4}";
  all[5].density = 0.25, all[5].cache = "lfu", all[5].tokens = 20;
  return all;
}

TEST_F(ReplayTest, RepeatsEveryKindOfRun) {
  for (std::size_t i = 0; i < runs().size(); ++i) {
    EXPECT_EQ(replay(runs()[i], record(runs()[i], "a.log")), "") << i;
  }
}

TEST_F(ReplayTest, RepeatsAFailedRun) {
  for (const TicketId ticket : {1u, 5u, 17u}) {
    SmallRun run;
    run.fail_ticket = ticket;
    const std::string log = record(run, "failed.log");
    SmallScheduler small(run);
    const auto world = make_world("replay", small.world_spec(log));
    backend::run(small.scheduler(), *world);
    EXPECT_THAT(small.scheduler().failure(), HasSubstr("gave up"));
    EXPECT_EQ(small.scheduler().commands_hash(), read_through(log).end->commands_hash);
  }
}

TEST_F(ReplayTest, RepeatsATimeout) {
  SmallRun run;
  run.costs.head = 100'000'000'000;
  const std::string log = record(run, "slow.log");
  SmallScheduler small(run);
  const auto world = make_world("replay", small.world_spec(log));
  backend::run(small.scheduler(), *world);
  EXPECT_THAT(small.scheduler().failure(), HasSubstr("no device answered"));
}

TEST_F(ReplayTest, ARecordedReplayIsTheSameFile) {
  const std::string log = record({}, "a.log");
  SmallScheduler small({});
  const auto world = make_world("replay", small.world_spec(log));
  {
    LogWriter writer(path("b.log"), "small");
    RecordingBackend recording(*world, writer);
    backend::run(small.scheduler(), recording);
    writer.finish({small.scheduler().commands_hash(), recording.completions_hash(), "{}"});
  }
  EXPECT_EQ(read_file(log), read_file(path("b.log")));
}

TEST_F(ReplayTest, AnotherRunStopsAtItsFirstCommandThatDiffers) {
  const std::string log = record(reading(), "a.log");
  EXPECT_THAT(replay(reading("lfu"), log),
              AllOf(HasSubstr("differs from " + log + " in batch "), HasSubstr("s["),
                    HasSubstr("in the log  read, ticket "), HasSubstr("now         read, ticket "),
                    HasSubstr("before it:\n"), HasSubstr("is done: ok")));
  SmallRun shorter = reading();
  shorter.tokens = 5;
  shorter.activations = std::make_shared<scheduler::SmallActivations>(6, 3, 16);
  EXPECT_THAT(replay(shorter, log),
              AllOf(HasSubstr("this run has ended, the log goes on"), HasSubstr("in the log  ")));
  SmallRun longer = reading();
  longer.tokens = 7;
  longer.activations = std::make_shared<scheduler::SmallActivations>(7, 3, 16);
  SmallRun six = longer;
  six.tokens = 6;
  EXPECT_THAT(replay(longer, record(six, "six.log")),
              HasSubstr("a command that is not in the log"));
}

TEST_F(ReplayTest, OtherScoresAreNoticedThoughTheSetsMayBeTheSame) {
  const std::string log = record({}, "a.log");
  SmallRun other;  // one code of one neuron, which is wanted or not as before
  other.activations = std::make_shared<scheduler::SmallActivations>(6, 3, 16);
  const auto codes = other.activations->importance(4, 1);
  std::vector<std::uint8_t> changed(codes.begin(), codes.end());
  auto& top = *std::max_element(changed.begin(), changed.end());
  top = static_cast<std::uint8_t>(top == 255 ? 254 : top + 1);
  other.activations->set(4, 1, changed);
  EXPECT_THAT(replay(other, log),
              AllOf(HasSubstr("the scores of this prediction hash to "),
                    HasSubstr("the predictor, its seed or the trace is not the same"),
                    HasSubstr("predict, ticket "), HasSubstr("layer 1, token 4")));
}

TEST_F(ReplayTest, ALogThatWasCutRepeatsUpToThere) {
  SmallRun run;
  run.tokens = 400;
  const std::string whole = read_file(record(run, "whole.log"));
  for (const double share : {0.5, 0.9, 0.999}) {
    const auto bytes = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
    write_file(path("cut.log"), whole.substr(0, bytes));
    const auto batches = std::to_string(read_through(path("cut.log")).batches);
    EXPECT_THAT(replay(run, path("cut.log")),
                AllOf(HasSubstr("cut.log was cut"), HasSubstr("after batch " + batches + ", at "),
                      HasSubstr("up to there nothing differs")));
  }
  write_file(path("cut.log"), whole.substr(0, whole.size() - 1));
  EXPECT_THAT(replay(run, path("cut.log")), HasSubstr("up to there nothing differs"))
      << "only the end mark is missing";
}

// Of a log: a name for each completion of a batch by which a test can choose.
CommandKind kind_of(const std::vector<scheduler::Command>& commands, TicketId ticket) {
  for (const auto& c : commands) {
    if (c.ticket == ticket) return c.kind;
  }
  ADD_FAILURE() << "no command " << ticket;
  return CommandKind::head;
}

std::vector<scheduler::Command> all_commands(const std::string& log) {
  LogReader reader(log);
  LogBatch batch;
  std::vector<scheduler::Command> commands;
  while (reader.next(batch)) {
    for (auto c : batch.commands) {
      c.blocks = {}, c.slots = {};
      commands.push_back(c);
    }
  }
  return commands;
}

TEST_F(ReplayTest, AnyChangedStampIsCaught) {
  const SmallRun run = reading();
  const std::string log = record(run, "a.log");
  const auto batches = read_through(log).batches;
  int at_the_end = 0, changed = 0;
  for (std::int64_t chosen = 0; chosen < batches; ++chosen) {
    for (const TimeNs by : {-1, 1}) {
      bool legal = true;
      TimeNs before = 0;
      const auto move = [&](std::int64_t i, LogBatch& batch) {
        if (i == chosen) {
          for (Completion& c : batch.completions) c.time_ns += by;
        }
        if (batch.completions.front().time_ns < before) {  // dates never decrease
          legal = false;
          for (Completion& c : batch.completions) c.time_ns = before;
        }
        before = batch.completions.back().time_ns;
      };
      edit(log, "changed.log", move);
      if (!legal) continue;
      ++changed;
      const std::string what = replay(run, path("changed.log"));
      EXPECT_THAT(what, HasSubstr("differs from ")) << "batch " << chosen;
      at_the_end += what.find("was changed after it was written") != what.npos ? 1 : 0;
    }
  }
  EXPECT_GT(changed, batches);
  EXPECT_GT(at_the_end, 0) << "a stamp that changed no decision";
}

TEST_F(ReplayTest, CompletionsInAnotherOrderAreCaughtWhereTheyMatter) {
  const SmallRun run = reading();
  const std::string log = record(run, "a.log");
  const auto commands = all_commands(log);
  const auto batches = read_through(log).batches;
  int swapped = 0, in_the_run = 0;
  for (std::int64_t chosen = 0; chosen + 1 < batches; ++chosen) {
    // A read and something else that ended one after the other end the other way round.
    TicketId first = 0, second = 0;
    edit(log, "same.log", [&](std::int64_t i, LogBatch& batch) {
      if (i == chosen) first = batch.completions.size() == 1 ? batch.completions[0].ticket : 0;
      if (i != chosen + 1) return;
      second = batch.completions.size() == 1 ? batch.completions[0].ticket : 0;
      // What was asked for between them could not be answered before.
      for (const auto& c : batch.commands) second = c.ticket == second ? 0 : second;
    });
    if (first == 0 || second == 0) continue;
    const bool reads = kind_of(commands, first) == CommandKind::read ||
                       kind_of(commands, second) == CommandKind::read;
    if (!reads) continue;
    Completion kept;
    std::uint64_t kept_hash = 0;
    const auto swap = [&](std::int64_t i, LogBatch& batch) {
      if (i != chosen && i != chosen + 1) return;
      Completion& c = batch.completions[0];
      const TimeNs time_ns = c.time_ns;
      if (i == chosen) {  // the second's place: filled from a first pass
        kept = c, kept_hash = batch.scores_hash[0];
        LogReader ahead(log);
        LogBatch next;
        for (std::int64_t k = 0; k <= chosen + 1; ++k) ahead.next(next);
        c = next.completions[0], batch.scores_hash[0] = next.scores_hash[0];
        c.not_read = {}, c.request_ns = {};
      } else {
        c = kept, batch.scores_hash[0] = kept_hash;
        c.not_read = {}, c.request_ns = {};
      }
      c.time_ns = time_ns;
    };
    edit(log, "swapped.log", swap);
    ++swapped;
    const std::string what = replay(run, path("swapped.log"));
    EXPECT_THAT(what, HasSubstr("differs from ")) << "batch " << chosen;
    const bool late = what.find("was changed after it was written") != what.npos;
    if (late) continue;
    ++in_the_run;
    const auto at = std::stoll(what.substr(what.find("in batch ") + 9));
    EXPECT_GT(at, chosen);
    EXPECT_LE(at, chosen + 2) << "what it changes shows at once";
  }
  EXPECT_GT(swapped, 5);
  EXPECT_GT(in_the_run, 5);
}

TEST_F(ReplayTest, AnswersThatNoWorldGivesAreTheFilesFault) {
  const SmallRun run;
  const std::string log = record(run, "a.log");
  const auto refused = [&](const std::function<void(Completion&)>& change, std::int64_t at) {
    return refusal(run, edit(log, "wrong.log", [&](std::int64_t i, LogBatch& batch) {
                     if (i == at) change(batch.completions.front());
                   }));
  };
  EXPECT_THAT(refused([](Completion& c) { c.ticket = 4000; }, 3),
              AllOf(HasSubstr("wrong.log: no world answers like this (batch 3, "),
                    HasSubstr("nothing of that ticket is under way")));
  EXPECT_THAT(refused([](Completion& c) { c.work_ns = -5; }, 3), HasSubstr("negative work"));
  const std::vector<BlockId> blocks{1000};
  for (std::int64_t at = 0; at < 10; ++at) {
    EXPECT_THAT(refused([&](Completion& c) { c.not_read = blocks; }, at),
                testing::AnyOf(HasSubstr("block 1000 was not asked for"),
                               HasSubstr("is not read in part")));
  }
  EXPECT_THAT(refused([](Completion& c) { c.status = Status::timed_out; }, 3),
              HasSubstr("a deadline comes alone"));
}

TEST_F(ReplayTest, AFailedCheckLeavesTheLogOfWhatHappened) {
  // The process ends in the middle of a run; its log replays up to there.
  const auto dies = [this] {
    SmallScheduler small({});
    scheduler::VirtualWorld world({}, small.predictor(), 16);
    LogWriter log(path("dead.log"), "small");
    RecordingBackend recording(world, log);
    class Dying final : public Backend {
     public:
      explicit Dying(Backend& inner) : inner_(inner) {}
      TimeNs now() override { return inner_.now(); }
      void submit(std::span<const scheduler::Command> c) override { inner_.submit(c); }
      std::span<const Completion> wait(TimeNs deadline) override {
        LEANSTREAM_CHECK(waits_++ < 30, "dies here");
        return inner_.wait(deadline);
      }
      void broken() override { inner_.broken(); }

     private:
      Backend& inner_;
      int waits_ = 0;
    } dying(recording);
    backend::run(small.scheduler(), dying);
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(70), "dies here");
  EXPECT_THAT(replay({}, path("dead.log")),
              AllOf(HasSubstr("dead.log was cut"), HasSubstr("up to there nothing differs")));
  EXPECT_EQ(read_through(path("dead.log")).batches, 31) << "the last without an answer";
}

TEST_F(ReplayTest, TwoLogsShowTheirFirstDifference) {
  const std::string a = record(reading(), "a.log");
  const Sides sides{"in the first run", "in the second"};
  SmallRun slower = reading();
  slower.costs.attention += 1;
  EXPECT_THAT(
      first_difference(a, record(slower, "slower.log"), sides),
      AllOf(HasSubstr("the time (ns) is "), HasSubstr(" in the first run, "),
            HasSubstr("in the second     "), HasSubstr("is done: ok"), HasSubstr("before it:")));
  EXPECT_THAT(first_difference(a, record(reading("lfu"), "other.log"), sides), HasSubstr("s["));
  std::int64_t batches = read_through(a).batches;
  write_file(path("cut.log"), read_file(a).substr(0, read_file(a).size() - 1));
  EXPECT_EQ(first_difference(a, path("cut.log"), sides), "") << "the same events";
  edit(a, "changed.log", [&](std::int64_t i, LogBatch& batch) {
    if (i + 1 == batches) batch.completions.back().work_ns += 7;
  });
  EXPECT_THAT(first_difference(a, path("changed.log"), sides),
              AllOf(HasSubstr("batch " + std::to_string(batches - 1) + ": work_ns is "),
                    HasSubstr("head, ticket ")));
}

}  // namespace
}  // namespace leanstream::backend
