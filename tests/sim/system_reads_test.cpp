// What the system makes of reads: one request of neighbours, queues that lanes share, several
// places in memory.
#include <gtest/gtest.h>

#include "tests/sim/in_world.h"

namespace leanstream::sim {
namespace {

using scheduler::CommandKind;

// UFS has one queue: two lanes have half of it each.
TEST(World, LanesShareTheQueuesOfTheDevice) {
  Device device;
  device.set_blocks(17'500);
  device.platform.flash.queue_depth = 4;
  device.platform.flash.io_segment_overhead_ns = 0;
  device.spec.io_lanes = 2;
  for (const std::int32_t queues : {0, 1, 2}) {
    device.platform.flash.queues = queues;
    in_world(device, [&](World& world, Commands& commands) {
      submit(world, {commands.read(4, 1)});
      // Four at once, the last 6 us after the first; or two and two.
      EXPECT_EQ(drain(world, 1)[1].time_ns, queues == 1 ? 2 * 90'000 + 2'000 : 90'000 + 6'000);
    });
  }
}

// Bytes of transfer for each place in memory but the first.
TEST(World, ARequestThatFillsSeveralPlacesTakesLonger) {
  Device device;
  device.set_blocks(17'500);
  device.platform.flash.piece_bytes = 1'750;  // 1 us of a stream
  in_world(device, [](World& world, Commands& commands) {
    const std::vector<SlotId> slots{4, 5, 9, 2};  // three places
    auto read = commands.with_blocks(CommandKind::read, {0, 1, 2, 3});
    read.merge_blocks = 4;
    read.slots = slots;
    submit(world, {read});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 40'000 + 2'000);
  });
}

// The same reads, of which the system makes one request by itself.
TEST(World, TheSystemMergesNeighbours) {
  Device device;
  device.set_blocks(17'500);
  device.platform.flash.merge_bytes = 36'000;  // two blocks
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.with_blocks(CommandKind::read, {0, 1, 10})});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 20'000);
  });
  device.spec.faults.read_error = 1e-9;  // each request by itself
  in_world(device, [](World& world, Commands& commands) {
    submit(world, {commands.with_blocks(CommandKind::read, {0, 1, 10})});
    EXPECT_EQ(drain(world, 1)[1].time_ns, 85'000 + 10'000 + 4'000);
  });
}

}  // namespace
}  // namespace leanstream::sim
