#include "sim/world.h"

#include <set>

#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/base/random.h"
#include "tests/sim/child.h"
#include "tests/sim/device.h"

namespace leanstream::sim {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

using Body = std::function<void(World&, Commands&)>;

void in_world(Device& device, const Body& body) {
  in_child([&] {
    Commands commands;
    World world(device.spec);
    bool ran = false;
    world.host([&] {
      body(world, commands);
      ran = true;
    });
    EXPECT_TRUE(ran);
  });
}

void submit(World& world, std::initializer_list<Command> commands) {
  world.submit(std::vector<Command>(commands));
}

TEST(World, IsRegistered) {
  bool found = false;
  for (const auto& world : backend::worlds()) found = found || world.name == "sim";
  EXPECT_TRUE(found);
}

TEST(World, OneRequest) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1)});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 10'000);
    EXPECT_EQ(world.now(), 95'000);
  });
}

TEST(World, ASaturatedQueue) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1000)});
    // 32 at 7 GB/s, then 968 at 32 every 90 us
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 80'000 + 2'722'500);
  });
  device.platform.flash.requests_per_s = 100e3;
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1000)});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 10'000'000);
  });
}

TEST(World, NeighboursAreOneRequestOfMixedSizes) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    auto read = commands.with_blocks(CommandKind::read, {0, 1, 2, 10});
    read.merge_blocks = 64;  // requests of three blocks and of one
    submit(world, {read});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 20'000);
  });
}

TEST(World, LanesShareTheFlash) {
  Device device;
  device.set_blocks(700'000);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(8, 0), commands.read(8, 3)});
    auto done = drain(world, 2);
    EXPECT_EQ(done[1].time_ns, 85'000 + 1'600'000);
    EXPECT_EQ(done[2].time_ns, done[1].time_ns);
  });
  device.set_blocks(4'096);
  in_world(device, [](World& world, Commands& commands) {  // 500k requests a second in all
    submit(world, {commands.read(32, 0), commands.read(32, 1)});
    EXPECT_EQ(drain(world, 2)[2].time_ns, 85'000 + 128'000);
  });
}

TEST(World, SimultaneousCompletionsAreOneBatchInOrderOfTickets) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1, 2), commands.read(1, 1), commands.read(1, 0)});
    const auto batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(batch[i].ticket, i + 1);
  });
}

TEST(World, CompletionsWithinANanosecondAreOneBatch) {
  Device device;
  device.spec.prediction = {.time_ns = 95'000, .bytes = 0};
  device.set_blocks(17'499);  // ends 0.57 ns before the prediction
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.make(CommandKind::predict), commands.read(1)});
    const auto batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 2u);
    EXPECT_EQ(batch[0].time_ns, 95'000);
    EXPECT_EQ(batch[1].ticket, 2u);
    EXPECT_EQ(batch[1].time_ns, 95'000);
  });
}

TEST(World, AcceleratorIsInOrderAndChargesSynchronisation) {
  Device device;
  device.spec.synchronisation = backend::Synchronisation::polling;
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.make(CommandKind::attention), commands.make(CommandKind::begin_layer),
                   commands.release(100), commands.release(200),
                   commands.make(CommandKind::end_layer), commands.make(CommandKind::head)});
    auto done = drain(world, 6);
    const TimeNs attention = 160'080;  // 8,004,000 bytes at 50 GB/s
    EXPECT_EQ(done[1].time_ns, attention);
    EXPECT_EQ(done[1].work_ns, attention);
    EXPECT_EQ(done[2].time_ns, attention);
    EXPECT_EQ(done[3].time_ns, attention + 35'000);
    EXPECT_EQ(done[3].work_ns, 30'000);
    EXPECT_EQ(done[4].time_ns, attention + 35'000 + 65'000);
    EXPECT_EQ(done[4].work_ns, 60'000);
    EXPECT_EQ(done[5].time_ns, done[4].time_ns);
    EXPECT_EQ(done[5].work_ns, 0);
    EXPECT_EQ(done[6].time_ns, done[5].time_ns + 200'000);
  });
}

TEST(World, ACommandWithoutTimeEndsAtOnce) {
  Device device;
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.make(CommandKind::begin_layer)});
    const auto batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].time_ns, 0);
  });
}

TEST(World, FlashAndAcceleratorMeetOnTheBus) {
  Device device;
  device.platform.memory.bandwidth_bytes_per_s = 10e9;
  device.platform.flash.io_segment_overhead_ns = 0;
  device.platform.flash.latency_ns = 0;
  device.set_blocks(1'000'000);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(7), commands.make(CommandKind::attention)});
    auto done = drain(world, 2);
    // 5 GB/s each until the read ends at 1.4 ms with 7 MB; the rest of 8.004 MB at 10 GB/s
    EXPECT_EQ(done[1].time_ns, 1'400'000);
    EXPECT_EQ(done[2].time_ns, 1'400'000 + 100'400);
    EXPECT_EQ(done[2].work_ns, 1'500'400);
  });
}

TEST(World, PredictionsCarryScores) {
  Device device;
  in_world(device, [](World& world, Commands& commands) {
    auto first = commands.make(CommandKind::predict);
    first.token = 1;
    first.layer = 1;
    first.feature = 3;
    auto second = first;
    second.ticket = 2;
    second.feature = 4;
    submit(world, {first, second});
    for (const TicketId ticket : {1u, 2u}) {
      const auto batch = world.wait(kNever);
      ASSERT_EQ(batch.size(), 1u);
      EXPECT_EQ(batch[0].time_ns, static_cast<TimeNs>(100'000 * ticket));
      ASSERT_EQ(batch[0].scores.size(), 4000u);
      EXPECT_EQ(batch[0].scores[3999], 112 + ticket);
    }
  });
}

TEST(World, ADeadlinePasses) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    auto batch = world.wait(1'000);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].status, Status::timed_out);
    EXPECT_EQ(batch[0].time_ns, 1'000);
    submit(world, {commands.read(1)});
    batch = world.wait(2'000);
    EXPECT_EQ(batch[0].status, Status::timed_out);
    EXPECT_EQ(world.now(), 2'000);
    batch = world.wait(500);  // in the past: no time goes back
    EXPECT_EQ(batch[0].time_ns, 2'000);
    batch = world.wait(96'000);  // just then: the completion wins
    EXPECT_EQ(batch[0].status, Status::ok);
    EXPECT_EQ(batch[0].time_ns, 96'000);
  });
}

TEST(World, WaitingForNothingIsADeadlock) {
  Device device;
  EXPECT_EXIT(
      {
        World world(device.spec);
        world.host([&] { world.wait(kNever); });
      },
      testing::ExitedWithCode(70), "deadlock at 0 ns");
}

// A closed loop over all stations; returns the hash of all tickets and dates.
std::uint64_t closed_loop(World& world, Commands& commands, int count) {
  RandomStream random(3, "test.world");
  Fnv64 hash;
  std::map<TicketId, int> station_of;
  TimeNs last = 0;
  auto send = [&](int station) {
    const auto n = 1 + static_cast<std::int32_t>(random.next_below(100));
    const auto command = station < 2    ? commands.read(n, station)
                         : station == 2 ? commands.release(n)
                                        : commands.make(CommandKind::predict);
    EXPECT_TRUE(station_of.emplace(command.ticket, station).second);
    world.submit({&command, 1});
  };
  for (int station = 0; station < 4; ++station) send(station);
  for (int done = 0; done < count;) {
    std::vector<int> idle;
    for (const Completion& completion : world.wait(kNever)) {
      EXPECT_GE(completion.time_ns, last);
      last = completion.time_ns;
      hash.add(completion.ticket);
      hash.add(static_cast<std::uint64_t>(completion.time_ns));
      idle.push_back(station_of.extract(completion.ticket).mapped());
      ++done;
    }
    for (const int station : idle) send(station);
  }
  EXPECT_EQ(station_of.size(), 4u);  // every ticket once, but those under way
  return hash.value();
}

TEST(World, RunsRepeatToTheBit) {
  Device device;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::uint64_t hashes[2] = {1, 2};
  for (auto& hash : hashes) {
    in_world(device, [&](World& world, Commands& commands) {
      const std::uint64_t value = closed_loop(world, commands, 3'000);
      ASSERT_EQ(write(pipe_ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    });
    ASSERT_EQ(read(pipe_ends[0], &hash, sizeof hash), static_cast<ssize_t>(sizeof hash));
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace leanstream::sim
