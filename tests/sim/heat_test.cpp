// A simulated device that is too hot runs at the speed that is left.
#include <cmath>

#include <gtest/gtest.h>

#include "sim/world.h"
#include "tests/sim/child.h"
#include "tests/sim/device.h"

namespace leanstream::sim {
namespace {

using scheduler::CommandKind;

// A head takes 200 µs: 10,000,000 bytes at 50 GB/s. The accelerator draws 10 W at work.
Device warm_device() {
  Device device;
  device.platform.energy.emplace().accelerator.active_w = 10;
  platform::ThermalUnit unit{.resistance_k_per_w = 4,
                             .capacity_j_per_k = 1e-3,
                             .limit_c = 50,
                             .hysteresis_k = 10,
                             .throttled_rate = 0.5,
                             .throttled_power = 0.25};
  device.platform.thermal =
      platform::Thermal{.ambient_c = 20, .accelerator = unit, .cpu = unit, .flash = unit};
  device.spec.platform = &device.platform;
  return device;
}

TimeNs run_heads(World& world, Commands& commands, int count) {
  for (int i = 0; i < count; ++i) {
    world.submit(std::vector{commands.make(CommandKind::head)});
    drain(world, 1);
  }
  return world.now();
}

// 10 W tend to 60 C and cross the limit of 50 C after RC · ln 4 = 5.5452 ms: 28 heads of 200 µs.
// Then heads take 400 µs at 2.5 W, which tend to 30 C: from 50.13 C to 40 C in RC · ln 2.01 = 2.80
// ms, 7 heads.
TEST(HotWorld, TheAcceleratorSlowsDownWhenTheClosedFormSaysSo) {
  Device device = warm_device();
  device.spec.platform = &device.platform;
  in_child([&] {
    World world(device.spec);
    Commands commands;
    const double rc = 4e-3;
    const auto fast = static_cast<int>(std::ceil(rc * std::log(4.0) / 200e-6));
    const double hottest = 60 - 40 * std::exp(-fast * 200e-6 / rc);
    const auto slow =
        static_cast<int>(std::ceil(rc * std::log((hottest - 30) / (40 - 30)) / 400e-6));
    EXPECT_EQ(fast, 28);
    EXPECT_EQ(slow, 7);
    EXPECT_EQ(run_heads(world, commands, fast), fast * 200'000);
    EXPECT_EQ(run_heads(world, commands, slow), fast * 200'000 + slow * 400'000);
    EXPECT_EQ(run_heads(world, commands, 1), (fast + 1) * 200'000 + slow * 400'000);
  });
}

TEST(HotWorld, EveryUnitHasItsOwnRate) {
  for (const bool throttle : {true, false}) {
    Device device = warm_device();
    device.spec.platform = &device.platform;
    device.platform.thermal->accelerator.throttled_rate = 0.25;
    device.platform.thermal->flash.throttled_rate = 0.1;
    device.spec.heat = {.throttle = throttle, .start_c = 90};
    device.set_blocks(17'500);
    in_child([&] {
      World world(device.spec);
      Commands commands;
      world.submit(std::vector{commands.make(CommandKind::predict)});
      EXPECT_EQ(drain(world, 1)[1].time_ns, throttle ? 200'000 : 100'000);
      TimeNs from = world.now();
      world.submit(std::vector{commands.release(100)});
      const auto released = drain(world, 1)[2];
      EXPECT_EQ(released.time_ns - from, throttle ? 200'000 : 50'000)
          << "20 µs of synchronisation and 30 µs of work";
      EXPECT_EQ(released.work_ns, throttle ? 120'000 : 30'000);
      from = world.now();
      world.submit(std::vector{commands.read(1)});
      EXPECT_EQ(drain(world, 1)[3].time_ns - from, 85'000 + (throttle ? 25'000 : 10'000))
          << "17,500 bytes at 0.1 of 7 GB/s, or a stream's 1.75 GB/s";
    });
  }
}

TEST(HotWorld, WithoutThermalFiguresNothingIsFelt) {
  Device device;
  device.spec.heat = {.throttle = true, .start_c = 900};
  in_child([&] {
    World world(device.spec);
    Commands commands;
    EXPECT_EQ(run_heads(world, commands, 3), 600'000);
  });
}

}  // namespace
}  // namespace leanstream::sim
