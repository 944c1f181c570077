#include "sim/world.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/base/random.h"
#include "tests/sim/in_world.h"

namespace leanstream::sim {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

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
    // 32 every 90 us, 31 times; of the last eight four at once, then four each 2 us
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 31 * 90'000 + 10'000 + 6'000 + 10'000);
  });
  device.platform.flash.requests_per_s = 100e3;
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1000)});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 9'990'000 + 10'000);
  });
}

TEST(World, NeighboursAreOneRequestOfMixedSizes) {
  Device device;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    auto read = commands.with_blocks(CommandKind::read, {0, 1, 2, 10});
    read.merge_blocks = 64;  // requests of three blocks and of one
    submit(world, {read});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 30'000);  // one stream each
  });
}

TEST(World, LanesShareTheFlash) {
  Device device;
  device.set_blocks(700'000);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(8, 0), commands.read(8, 3)});
    auto done = drain(world, 2);
    EXPECT_NEAR(static_cast<double>(done[1].time_ns), 85'000 + 1'600'000, 10'000);
    EXPECT_NEAR(static_cast<double>(done[2].time_ns), 85'000 + 1'600'000, 10'000);
  });
  device.set_blocks(4'096);
  in_world(device, [](World& world, Commands& commands) {  // 500k requests a second in all
    submit(world, {commands.read(200, 0), commands.read(200, 1)});
    EXPECT_NEAR(static_cast<double>(drain(world, 2)[2].time_ns), 85'000 + 800'000, 10'000);
  });
}

TEST(World, SimultaneousCompletionsAreOneBatchInOrderOfTickets) {
  Device device;
  device.platform.flash.requests_per_s = 1e12;
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
    // (single requests start 2 us apart, and the last ones leave bandwidth to the accelerator)
    EXPECT_NEAR(static_cast<double>(done[1].time_ns), 1'400'000, 4'000);
    EXPECT_NEAR(static_cast<double>(done[2].time_ns), 1'400'000 + 100'400, 1);
    EXPECT_EQ(done[2].work_ns, done[2].time_ns);
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
        world.wait(kNever);
      },
      testing::ExitedWithCode(70), "deadlock at 0 ns");
}

TEST(World, OneInAProcess) {
  Device device;
  EXPECT_EXIT(
      {
        { World first(device.spec); }
        World second(device.spec);
      },
      testing::ExitedWithCode(70), "one simulation a process");
}

TEST(World, ACancelEndsAtOnceAndSoDoesWhatHadNotBegun) {
  Device device;
  in_world(device, [](World& world, Commands& commands) {
    const auto first = commands.read(500);
    const auto second = commands.read(5);
    submit(world, {first, second});
    EXPECT_EQ(world.wait(200'000)[0].status, Status::timed_out);
    auto cancel = commands.make(CommandKind::cancel);
    cancel.target = second.ticket;
    submit(world, {cancel});
    auto batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 2u);
    EXPECT_EQ(batch[0].ticket, second.ticket);
    EXPECT_EQ(batch[0].status, Status::cancelled);
    EXPECT_EQ(batch[0].time_ns, 200'000);
    EXPECT_TRUE(std::ranges::equal(batch[0].not_read, second.blocks));
    EXPECT_EQ(batch[1].ticket, cancel.ticket);
    EXPECT_EQ(batch[1].status, Status::ok);
    batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].ticket, first.ticket);
    cancel.ticket = 4;
    cancel.target = first.ticket;  // done: no error
    submit(world, {cancel});
    batch = world.wait(kNever);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].status, Status::ok);
  });
}

TEST(World, ADeadAcceleratorEndsNothingAndTheOthersGoOn) {
  Device device;
  device.spec.faults.accelerator_dies_ns = 100'000;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    auto read = commands.read(100);
    submit(world, {read, commands.make(CommandKind::attention)});  // would end at 160 us
    auto batch = world.wait(10'000'000);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].ticket, read.ticket);
    submit(world, {commands.make(CommandKind::begin_layer)});
    batch = world.wait(10'000'000);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].status, Status::timed_out);
    EXPECT_EQ(world.now(), 10'000'000);
  });
}

TEST(World, AStallHoldsTheFlashOnly) {
  Device device;
  device.spec.faults.stall_from_ns = 50'000;
  device.spec.faults.stall_for_ns = 1'000'000;
  device.set_blocks(17'500);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(1), commands.make(CommandKind::predict)});
    auto done = drain(world, 2);
    EXPECT_EQ(done[1].time_ns, 95'000 + 1'000'000);
    EXPECT_EQ(done[2].time_ns, 100'000);
    submit(world, {commands.read(1)});  // it is over
    EXPECT_EQ(drain(world, 1)[3].time_ns, 1'095'000 + 95'000);
  });
}

TEST(World, ACollapseComesAndGoes) {
  Device device;
  device.spec.faults.collapse_from_ns = 1'085'000;
  device.spec.faults.collapse_to_ns = 2'085'000;
  device.spec.faults.collapse_factor = 0.1;
  device.set_blocks(1'000'000);
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.read(14)});  // 2 ms at 7 GB/s, of which one at a tenth
    EXPECT_NEAR(static_cast<double>(drain(world, 1)[1].time_ns), 85'000 + 2.9e6, 0.3e6);
  });
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
  device.spec.faults.late = 0.1;
  device.spec.faults.late_by_ns = 300'000;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::array<std::array<std::uint64_t, 2>, 2> hashes{};  // of run and fidelity
  for (auto& both : hashes) {
    in_world(device, [&](World& world, Commands& commands) {
      const std::uint64_t value = closed_loop(world, commands, 3'000);
      ASSERT_EQ(write(pipe_ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    });
    for (auto& hash : both) {
      ASSERT_EQ(read(pipe_ends[0], &hash, sizeof hash), static_cast<ssize_t>(sizeof hash));
    }
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0][0], hashes[0][1]);
}

}  // namespace
}  // namespace leanstream::sim
