// The host's own time, in hand-worked dates: step 3 us, wake-up 20 us, to another thread 4 us, 2 us
// of processor for a read.
#include "sim/host.h"

#include <gtest/gtest.h>

#include "tests/sim/child.h"
#include "tests/sim/device.h"

namespace leanstream::sim {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Status;

class HostTest : public testing::Test {
 protected:
  HostTest() {
    device.set_blocks(17'500);  // alone 80 + 10 us
    device.platform.cpu.step_ns = 3'000;
    device.platform.cpu.wake_up_ns = 20'000;
    device.platform.cpu.hand_over_ns = 4'000;
    device.platform.flash.io_segment_overhead_ns = 0;
    device.spec.fidelity = backend::Fidelity::request;
  }

  template <typename Body>
  void in_world(const Body& body) {
    in_child([&] {
      Host host(device.spec, std::make_unique<World>(device.spec));
      body(host);
    });
  }
  static void submit(Host& host, std::initializer_list<Command> commands) {
    host.submit(std::vector<Command>(commands));
  }

  Device device;
  Commands commands;
};

TEST_F(HostTest, AReadIsSeenWhenItEnds) {
  in_world([&](Host& host) {
    submit(host, {commands.read(1)});
    const auto batch = host.wait(kNever);
    ASSERT_EQ(batch.size(), 1);
    EXPECT_EQ(batch[0].time_ns, 3'000 + 90'000);
    EXPECT_EQ(batch[0].request_ns[0], 90'000);
    EXPECT_EQ(host.now(), 93'000);
  });
}

TEST_F(HostTest, WhoLooksSeesTheEndAtOnceButNotForLong) {
  device.spec.synchronisation = backend::Synchronisation::flags;
  for (const std::int32_t blocks : {20, 40}) {
    in_world([&](Host& host) {
      // A segment of 1 us and 0.3 us a block; the thread needs the end of its layer.
      const auto segment = commands.release(blocks);
      submit(host, {segment, commands.make(CommandKind::end_layer)});
      const auto batch = host.wait(kNever);
      ASSERT_EQ(batch.size(), 2);
      EXPECT_EQ(batch[1].time_ns, blocks == 20 ? 3'000 + 7'000 : 3'000 + 13'000 + 20'000);
    });
  }
}

TEST_F(HostTest, WhatEndsWhileItIsBusyIsSeenWhenItWaits) {
  in_world([&](Host& host) {
    submit(host, {commands.read(1)});
    EXPECT_EQ(host.wait(92'500)[0].status, Status::timed_out);
    submit(host, {commands.read(1)});  // handed over at 95.5 us; the first has ended at 93
    const auto batch = host.wait(kNever);
    ASSERT_EQ(batch.size(), 1);
    EXPECT_EQ(batch[0].ticket, 1);
    EXPECT_EQ(batch[0].time_ns, 95'500);
  });
}

TEST_F(HostTest, ADeadlineThatPassesIsSeenThen) {
  in_world([&](Host& host) {
    submit(host, {commands.read(1)});
    const auto batch = host.wait(50'000);
    ASSERT_EQ(batch.size(), 1);
    EXPECT_EQ(batch[0].status, Status::timed_out);
    EXPECT_EQ(batch[0].time_ns, 50'000);
    EXPECT_EQ(host.wait(kNever)[0].time_ns, 93'000);
  });
}

TEST_F(HostTest, APredictionWakesItsThreadAndIsKeptUntilTheNextWait) {
  in_world([&](Host& host) {
    auto prediction = commands.make(CommandKind::predict);
    prediction.layer = 1;
    submit(host, {prediction});
    const auto batch = host.wait(kNever);
    EXPECT_EQ(batch[0].time_ns, 3'000 + 4'000 + 100'000 + 4'000);
    ASSERT_EQ(batch[0].scores.size(), 4000);
    EXPECT_EQ(batch[0].scores[3999], 10);
  });
}

// Two cores: the accelerator has one, predictions are made on that of the scheduler's thread.
TEST_F(HostTest, APredictionBeginsWhenItsProcessorHasHandedOver) {
  for (const std::int32_t cores : {2, 3}) {
    device.platform.cpu.cores = cores;
    in_world([&](Host& host) {
      auto prediction = commands.make(CommandKind::predict);
      prediction.layer = 1;
      submit(host, {prediction, commands.read(5)});  // 2 us a request
      const auto answered = [&](TicketId ticket) {
        for (;;) {
          for (const scheduler::Completion& c : host.wait(kNever)) {
            if (c.ticket == ticket) return c.time_ns;
          }
        }
      };
      EXPECT_EQ(answered(prediction.ticket),
                3'000 + (cores == 2 ? 5 * 2'000 : 0) + 4'000 + 100'000 + 4'000);
    });
  }
}

// Threads of an accelerator without work sleep, unless they poll.
TEST(Accelerator, StartsLaterWhenItHasBeenIdle) {
  using backend::Synchronisation;
  Device device;
  device.platform.accelerator.start_ns = 30'000;
  for (const auto& [way, segment_ns] : {std::pair{Synchronisation::flags, TimeNs{7'000}},
                                        std::pair{Synchronisation::polling, TimeNs{11'000}},
                                        std::pair{Synchronisation::device, TimeNs{26'000}}}) {
    device.spec.synchronisation = way;
    in_child([&, segment_ns = segment_ns] {
      World world(device.spec);
      Commands commands;
      std::vector<Command> two{commands.release(20), commands.release(20)};
      world.submit(two);
      const TimeNs start_ns = way == Synchronisation::polling ? 0 : 30'000;
      EXPECT_EQ(drain(world, 2)[2].time_ns, start_ns + 2 * segment_ns);
      const TimeNs from = world.now() + 1'000;
      world.wait(from);
      const Command next = commands.release(20);
      world.submit(std::span(&next, 1));
      EXPECT_EQ(world.wait(kNever)[0].time_ns, from + start_ns + segment_ns);
    });
  }
}

TEST(Host, TakesTimeOnlyWhereThePlatformSaysSo) {
  platform::Cpu cpu;
  cpu.read_request_ns = 1'000;
  EXPECT_FALSE(host_takes_time(cpu));
  cpu.step_ns = 1;
  EXPECT_TRUE(host_takes_time(cpu));
}

}  // namespace
}  // namespace leanstream::sim
