#include "sim/bus.h"

#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "sim/station.h"
#include "tests/sim/child.h"
#include "tests/sim/comm_bus.h"
#include "tests/sim/timeline.h"

namespace leanstream::sim {
namespace {

// A flow that is submitted to a port at a date, behind those that are there already.
struct Arrival {
  int port;
  double date_s;
  Flow flow;
};

// When each arrival has ended, in their order, which is that of their dates.
std::vector<double> ends_on_bus(double bytes_per_s, int ports,
                                const std::vector<Arrival>& arrivals) {
  std::vector<Station::Ended> ended;
  std::vector<std::unique_ptr<Station>> stations;
  std::vector<BusUser*> users;
  for (int p = 0; p < ports; ++p) {
    stations.push_back(std::make_unique<Station>(ended));
    users.push_back(stations.back().get());
  }
  Timeline timeline(bytes_per_s, users);
  std::vector<double> ends(arrivals.size());
  auto note = [&] {
    for (const auto& e : ended) ends.at(e.command.ticket) = timeline.now_s();
    ended.clear();
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    while (timeline.step(arrivals[i].date_s)) note();
    scheduler::Command command;
    command.ticket = i;
    stations[static_cast<std::size_t>(arrivals[i].port)]->submit(command, arrivals[i].flow,
                                                                 timeline.now_s());
  }
  while (timeline.step()) note();
  return ends;
}

std::vector<double> ends_on_comms(CommBus& bus, const std::vector<Arrival>& arrivals) {
  std::vector<double> ends(arrivals.size());
  std::map<int, std::deque<std::size_t>> queues;
  auto end = [&](int port) {
    auto& queue = queues[port];
    ends[queue.front()] = bus.clock_s();
    queue.pop_front();
    if (!queue.empty()) bus.start(port, arrivals[queue.front()].flow);
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    while (const auto port = bus.next(arrivals[i].date_s)) end(*port);
    auto& queue = queues[arrivals[i].port];
    queue.push_back(i);
    if (queue.size() == 1) bus.start(arrivals[i].port, arrivals[i].flow);
  }
  while (!bus.idle()) end(*bus.next(kInfinity));
  return ends;
}

TEST(Bus, AFlowIsDelayAndRate) {
  const auto ends =
      ends_on_bus(50e9, 2, {{0, 0, {1'750'000, 50e-6, 1.75e9}}, {1, 0, {0, 3e-6, 0}}});
  EXPECT_NEAR(ends[0], 1050e-6, 1e-15);
  EXPECT_NEAR(ends[1], 3e-6, 1e-15);
}

TEST(Bus, TwoFlowsShareAndTheLastGetsAll) {
  const auto ends = ends_on_bus(50e9, 2, {{0, 0, {25e6, 0, 50e9}}, {1, 0, {50e6, 0, 50e9}}});
  EXPECT_NEAR(ends[0], 1.0e-3, 1e-15);
  EXPECT_NEAR(ends[1], 1.5e-3, 1e-15);
}

TEST(Bus, AFlowArrivesMidway) {
  const auto ends =
      ends_on_bus(50e9, 2, {{0, 0, {50e6, 10e-6, 50e9}}, {1, 510e-6, {10e6, 0, 10e9}}});
  EXPECT_NEAR(ends[0], 1135e-6, 1e-15);
  EXPECT_NEAR(ends[1], 1510e-6, 1e-15);
}

TEST(Bus, TheModestGetWhatTheyAskForAndTheRestIsShared) {
  const auto ends = ends_on_bus(50e9, 4,
                                {{0, 0, {7e6, 0, 7e9}},
                                 {1, 0, {10e6, 0, 10e9}},
                                 {2, 0, {16.5e6, 0, 50e9}},
                                 {3, 0, {16.5e6, 0, 40e9}}});
  for (const double end : ends) EXPECT_NEAR(end, 1e-3, 1e-15);
}

TEST(Bus, ARateOfNobodyChangesNothing) {  // dates carry no noise of other events
  std::vector<Arrival> arrivals = {{0, 0, {1e6, 0, 1e9}}};
  for (int i = 0; i < 1000; ++i) arrivals.push_back({1, i * 0.7e-6, {100, 0, 1e9}});
  EXPECT_EQ(ends_on_bus(50e9, 2, arrivals)[0], 1e-3);
}

TEST(Bus, LevelsAreWeighted) {
  const Claim claims[] = {{100, 1}, {100, 3}, {2, 1}};
  EXPECT_DOUBLE_EQ(fair_level(42, claims), 10);
  EXPECT_EQ(fair_level(202, claims), kInfinity);
  EXPECT_EQ(fair_level(42, {}), kInfinity);
}

// Random flows, arrivals, delays and bounds: the same dates as SimGrid's own network.
TEST(Bus, AgreesWithSimGridsNetwork) {
  in_child([] {
    constexpr int kPorts = 8;
    RandomStream random(7, "test.bus");
    std::vector<Arrival> arrivals;
    double date_s = 0;
    for (int i = 0; i < 4'000; ++i) {
      // Bursts, then pauses in which some or all of the flows end.
      if (random.next_below(3) == 0) date_s += 200e-6 * random.next_unit();
      const double delay_s = random.next_below(2) == 0 ? 0 : 100e-6 * random.next_unit();
      arrivals.push_back({static_cast<int>(random.next_below(kPorts)),
                          date_s,
                          {static_cast<double>(10'000 + random.next_below(2'000'000)), delay_s,
                           1e9 + 49e9 * random.next_unit()}});
    }
    const auto ours = ends_on_bus(50e9, kPorts, arrivals);
    CommBus bus(50e9, kPorts);
    bus.run([&] {
      const auto theirs = ends_on_comms(bus, arrivals);
      double worst = 0;
      for (std::size_t i = 0; i < arrivals.size(); ++i) {
        worst = std::max(worst, std::abs(ours[i] - theirs[i]));
      }
      EXPECT_LT(worst, 1e-12);
      EXPECT_GT(ours.back(), 0.05);
    });
  });
}

}  // namespace
}  // namespace leanstream::sim
