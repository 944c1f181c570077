// The null device: everything at once, in order, without memory of its own once it is warm.
#include <set>

#include <gmock/gmock.h>

#include "engine/backend/run_loop.h"
#include "tests/backend/small_log.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

// One command of each kind, the read with blocks and taken back at the end.
std::vector<Command> one_of_each(TicketId first) {
  static const std::vector<BlockId> blocks{3, 4, 9};
  static const std::vector<SlotId> slots{0, 1, 2};
  std::vector<Command> commands;
  for (int kind = 0; kind <= static_cast<int>(CommandKind::cancel); ++kind) {
    Command& c = commands.emplace_back();
    c.ticket = first++;
    c.kind = static_cast<CommandKind>(kind);
    c.layer = c.kind == CommandKind::head ? kNone : 1;
    c.token = 2;
    if (c.kind == CommandKind::read || c.kind == CommandKind::release) {
      c.blocks = blocks;
      c.slots = slots;
    }
    if (c.kind == CommandKind::cancel) c.target = commands.front().ticket;
  }
  return commands;
}

TEST(NullTest, AnswersAllAtOnceInOrderOfTickets) {
  SmallScheduler small({});
  const auto world = make_world("null", small.world_spec());
  EXPECT_EQ(world->now(), 0);
  const auto commands = one_of_each(1);
  world->submit(std::span(commands).first(3));
  world->submit(std::span(commands).subspan(3));
  const auto batch = world->wait(1000);
  ASSERT_EQ(batch.size(), commands.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].ticket, commands[i].ticket);
    EXPECT_EQ(batch[i].status, Status::ok);
    EXPECT_EQ(batch[i].time_ns, 1);
    EXPECT_TRUE(batch[i].not_read.empty());
    EXPECT_EQ(batch[i].scores.empty(), commands[i].kind != CommandKind::predict);
  }
  EXPECT_EQ(world->now(), 1);
  world->submit(one_of_each(9));
  EXPECT_EQ(world->wait(1000).front().time_ns, 2) << "dates rise by one nanosecond";
}

TEST(NullTest, PredictionsCarryThePredictorsScores) {
  SmallScheduler small({});
  const auto world = make_world("null", small.world_spec());
  std::vector<Command> commands(2);
  for (std::size_t i = 0; i < 2; ++i) {
    commands[i].ticket = i + 1;
    commands[i].kind = CommandKind::predict;
    commands[i].layer = static_cast<LayerId>(i);
    commands[i].feature = scheduler::kFeatureFinal;
  }
  world->submit(commands);
  const auto batch = world->wait(1000);
  ASSERT_EQ(batch.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::uint8_t> expected(16);
    small.predictor().predict(0, static_cast<LayerId>(i), scheduler::kFeatureFinal, expected);
    EXPECT_THAT(batch[i].scores, testing::ElementsAreArray(expected)) << i;
  }
}

TEST(NullTest, WithNothingUnderWayTheDeadlinePasses) {
  SmallScheduler small({});
  const auto world = make_world("null", small.world_spec());
  const auto batch = world->wait(77);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].status, Status::timed_out);
  EXPECT_EQ(batch[0].ticket, 0u);
  EXPECT_EQ(batch[0].time_ns, 77);
  EXPECT_EQ(world->now(), 77);
}

TEST(NullTest, KeepsItsMemory) {
  SmallScheduler small({});
  const auto world = make_world("null", small.world_spec());
  std::set<const void*> batches, scores;
  for (TicketId first = 1; first < 8000; first += 8) {
    world->submit(one_of_each(first));
    const auto batch = world->wait(kNever);
    batches.insert(batch.data());
    for (const Completion& c : batch) {
      if (!c.scores.empty()) scores.insert(c.scores.data());
    }
  }
  EXPECT_EQ(batches.size(), 1u);
  EXPECT_EQ(scores.size(), 1u);
}

TEST(NullTest, RunsToTheEndAndRepeats) {
  for (const char* predictor : {"oracle", "all"}) {
    scheduler::SmallRun run;
    run.predictor = predictor;
    std::set<std::string> hashes;
    for (int i = 0; i < 2; ++i) {
      SmallScheduler small(run);
      const auto world = make_world("null", small.world_spec());
      backend::run(small.scheduler(), *world);
      EXPECT_EQ(small.scheduler().failure(), "");
      EXPECT_EQ(small.scheduler().metrics().tokens.size(), 4u);
      EXPECT_EQ(small.scheduler().metrics().end_ns, world->now());
      hashes.insert(small.scheduler().commands_hash());
    }
    EXPECT_EQ(hashes.size(), 1u) << predictor;
  }
}

}  // namespace
}  // namespace leanstream::backend
