#include "sim/fabric.h"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/sim/child.h"
#include "tests/sim/sharing.h"

namespace leanstream::sim {
namespace {

constexpr double kEver = std::numeric_limits<double>::infinity();
constexpr Fabric::Bandwidths kBandwidths{7e9, 16e9, 50e9};

void in_fabric(const std::function<void(Fabric&)>& body) {
  in_child([&] {
    Fabric fabric(kBandwidths);
    bool ran = false;
    fabric.run([&] {
      body(fabric);
      ran = true;
    });
    EXPECT_TRUE(ran);
  });
}

// When each port ended.
std::map<Port, double> ends(Fabric& fabric) {
  std::map<Port, double> out;
  while (!fabric.idle()) {
    const auto port = fabric.next(kEver);
    EXPECT_TRUE(port.has_value() && !out.contains(*port));
    out[*port] = fabric.clock_s();
  }
  return out;
}

TEST(Fabric, AFlowIsDelayAndRate) {
  in_fabric([](Fabric& fabric) {
    fabric.start(0, {1'750'000, 50e-6, 1.75e9});
    EXPECT_NEAR(fabric.earliest_end_s(), 1050e-6, 1e-15);
    EXPECT_NEAR(ends(fabric)[0], 1050e-6, 1e-15);
    fabric.start(kProcessor, {0, 3e-6, 0});
    EXPECT_NEAR(ends(fabric)[kProcessor], 1053e-6, 1e-15);
  });
}

TEST(Fabric, TwoFlowsShareTheBusAndTheLastGetsAll) {
  in_fabric([](Fabric& fabric) {
    fabric.start(kAccelerator, {25'000'000, 0, 50e9});
    fabric.start(kProcessor, {50'000'000, 0, 50e9});
    auto at = ends(fabric);
    EXPECT_NEAR(at[kAccelerator], 1.0e-3, 1e-15);
    EXPECT_NEAR(at[kProcessor], 1.5e-3, 1e-15);
  });
}

TEST(Fabric, AFlowArrivesMidway) {
  in_fabric([](Fabric& fabric) {
    fabric.start(kAccelerator, {50'000'000, 10e-6, 50e9});
    EXPECT_EQ(fabric.next(510e-6), std::nullopt);
    EXPECT_NEAR(fabric.clock_s(), 510e-6, 1e-15);
    fabric.start(kProcessor, {10'000'000, 0, 10e9});
    auto at = ends(fabric);
    EXPECT_NEAR(at[kAccelerator], 1135e-6, 1e-15);
    EXPECT_NEAR(at[kProcessor], 1510e-6, 1e-15);
  });
}

TEST(Fabric, ThreeLevels) {  // lanes share 7 GB/s, the processor takes 10, the accelerator the rest
  in_fabric([](Fabric& fabric) {
    fabric.start(0, {3'500'000, 0, 7e9});
    fabric.start(1, {3'500'000, 0, 7e9});
    fabric.start(kProcessor, {10'000'000, 0, 10e9});
    fabric.start(kAccelerator, {33'000'000, 0, 50e9});
    for (const auto& [port, at] : ends(fabric)) EXPECT_NEAR(at, 1e-3, 1e-15) << port;
  });
}

TEST(Fabric, DelaysDoNotChangeShares) {
  in_fabric([](Fabric& fabric) {
    fabric.start(0, {7'000'000, 80e-6, 7e9});
    fabric.start(1, {7'000'000, 0, 7e9});
    auto at = ends(fabric);
    EXPECT_NEAR(at[1], 80e-6 + (7e6 - 0.56e6) / 3.5e9, 1e-15);
    EXPECT_NEAR(at[0], 2e-3, 1e-15);
  });
}

TEST(Fabric, ExceptionsOfTheBodyComeOut) {
  in_child([] {
    Fabric fabric(kBandwidths);
    EXPECT_THROW(fabric.run([&] {
      fabric.start(0, {1000, 0, 1e9});
      throw std::runtime_error("body");
    }),
                 std::runtime_error);
  });
}

TEST(Fabric, OneInAProcess) {
  EXPECT_EXIT(
      {
        { Fabric first(kBandwidths); }
        Fabric second(kBandwidths);
      },
      testing::ExitedWithCode(70), "one simulation a process");
}

TEST(Fabric, AgreesWithAnotherSolver) {
  in_fabric([](Fabric& fabric) {
    Sharing other(kBandwidths);
    RandomStream random(7, "test.fabric");
    const Port ports[] = {0, 1, 2, 3, 4, 5, kAccelerator, kProcessor};
    auto start = [&](Port port) {
      const Flow flow{10'000 + random.next_below(2'000'000), 100e-6 * random.next_unit(),
                      1e9 + 1e9 * random.next_unit() * (port < kLanes ? 6 : 49)};
      fabric.start(port, flow);
      other.start(port, flow);
    };
    for (const Port port : ports) start(port);
    double worst = 0;
    for (int i = 0; i < 4'000; ++i) {
      const auto port = fabric.next(kEver);
      const auto [expected, at_s] = other.next();
      ASSERT_TRUE(port.has_value());
      ASSERT_EQ(*port, expected) << "event " << i;
      worst = std::max(worst, std::abs(fabric.clock_s() - at_s) / at_s);
      start(*port);
    }
    EXPECT_LT(worst, 1e-9);
  });
}

}  // namespace
}  // namespace leanstream::sim
