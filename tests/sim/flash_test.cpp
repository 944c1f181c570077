// What both looks at the flash promise: latencies, cancels, faults.
#include "sim/flash.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/sim/flash_run.h"

namespace leanstream::sim {
namespace {

using scheduler::Status;

Device round_flash(Bytes block_bytes) {
  return device_with(round_device().flash, block_bytes);
}

TEST(RequestFlash, LatencyIsFromWhenTheDeviceTookIt) {
  FlashRun run(device_with(orin_flash(), 49'152), Fidelity::request);
  run.submit(run.commands.read(100));  // the host takes one each 21 us, a transfer takes 14
  run.run(1);
  const auto& latencies = run.answers[1].request_ns;
  ASSERT_EQ(latencies.size(), 100u);
  for (const TimeNs ns : latencies) EXPECT_NEAR(static_cast<double>(ns), 45'000 + 14'043, 1);
}

TEST(RequestFlash, LittlesLaw) {  // the bandwidth is the limit: 32 wait in the device
  FlashRun run(round_flash(100'000), Fidelity::request);
  run.submit(run.commands.read(3'200));
  run.run(1);
  const auto& latencies = run.answers[1].request_ns;
  const double sum = std::accumulate(latencies.begin() + 320, latencies.end() - 320, 0.0);
  EXPECT_NEAR(sum / 2'560 * 1e-9 * 7e9 / 100'000, 32, 0.5);
}

TEST(RequestFlash, LanesAreServedInTurn) {
  FlashRun run(device_with(orin_flash(), 7'168), Fidelity::request);
  run.submit(run.commands.read(500, 0));
  run.submit(run.commands.read(50, 1));
  run.run(2);
  EXPECT_NEAR(run.answers[2].end_s, 100 / 47e3, 0.06 * 100 / 47e3);
  EXPECT_NEAR(run.answers[1].end_s, 550 / 47e3, 0.01 * 550 / 47e3);
}

TEST(RequestFlash, ARequestCostsTwoEvents) {
  FlashRun run(device_with(orin_flash(), 49'152), Fidelity::request);
  run.submit(run.commands.read(1'000));
  run.run(1);
  EXPECT_LE(run.events(), 2'000);
}

TEST(SegmentFlash, AReadCostsTwoEvents) {
  FlashRun run(device_with(orin_flash(), 49'152), Fidelity::segment);
  for (int i = 0; i < 10; ++i) run.submit(run.commands.read(1'000));
  run.run(10);
  EXPECT_LE(run.events(), 20);
  EXPECT_TRUE(run.answers[1].request_ns.empty());
}

TEST(Flash, AReadThatFindsItsLaneIdlePaysTheOverhead) {
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(round_flash(17'500), fidelity);
    run.submit(run.commands.read(1, 3));
    EXPECT_NEAR(run.run(1), 95e-6, 1e-12);
    run.submit(run.commands.read(1, 3));
    run.submit(run.commands.read(1, 3));  // behind another: none, and its latency is hidden
    run.run(3);
    EXPECT_NEAR(run.answers[2].end_s, 190e-6, 1e-12);
    EXPECT_NEAR(run.answers[3].end_s, 192e-6, 1e-12);
  }
}

// --- cancel

TEST(Cancel, WhatHasNotBegunComesBackAtOnce) {
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(round_flash(17'500), fidelity);
    run.submit(run.commands.read(1'000));
    run.submit(run.commands.read(7));
    run.run_until(500e-6);
    run.cancel(2);
    ASSERT_TRUE(run.answers.contains(2));
    EXPECT_EQ(run.answers[2].status, Status::cancelled);
    EXPECT_EQ(run.answers[2].not_read.size(), 7u);
    run.cancel(2);  // done: no error
    run.run(2);
    EXPECT_EQ(run.answers[1].status, Status::ok);
    EXPECT_TRUE(run.answers[1].not_read.empty());
  }
}

// Cancels at many moments, of a first read and of one behind it: the same in both, within rounding.
TEST(Cancel, WhatHasBegunIsServed) {
  for (const auto& flash : {orin_flash(), round_device().flash}) {
    for (const Bytes block : {7'168, 49'152, 300'000}) {
      for (int k = 0; k < 40; ++k) {
        for (const TicketId target : {1u, 2u}) {
          std::size_t left[2];
          double end_s[2];
          for (const Fidelity fidelity : kFidelities) {
            FlashRun run(device_with(flash, block), fidelity);
            run.submit(run.commands.read(40));
            const auto second = run.commands.read(60);
            run.submit(second);
            run.run_until(53.7e-6 * k);
            run.cancel(target);
            run.run(2);
            const auto& answer = run.answers[target];
            const int at = static_cast<int>(fidelity);
            left[at] = answer.not_read.size();
            end_s[at] = std::max(answer.end_s, run.answers[3 - target].end_s);
            EXPECT_EQ(answer.status, left[at] > 0 ? Status::cancelled : Status::ok);
            EXPECT_EQ(run.answers[3 - target].status, Status::ok);
            if (fidelity == Fidelity::request) {
              EXPECT_EQ(answer.request_ns.size() + left[at], target == 1 ? 40u : 60u);
            }
            // What comes back is the end of the read.
            if (target == 2) {
              EXPECT_TRUE(std::equal(answer.not_read.rbegin(), answer.not_read.rend(),
                                     second.blocks.rbegin()));
            }
          }
          const double more = static_cast<double>(left[0]) - static_cast<double>(left[1]);
          EXPECT_LE(std::abs(more), 2) << "read " << target << " of " << block << " at " << k;
          EXPECT_NEAR(end_s[0] / end_s[1], 1, 0.06)
              << "read " << target << " of " << block << " at " << k;
        }
      }
    }
  }
}

TEST(Cancel, ThousandsOfQueuedReads) {
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(device_with(orin_flash(), 49'152), fidelity);
    for (int i = 0; i < 3'000; ++i) run.submit(run.commands.read(1));
    run.run_until(10e-3);
    for (TicketId t = 3'000; t >= 1; t -= 2) run.cancel(t);
    const double end_s = run.run(3'000);
    std::size_t cancelled = 0;
    for (const auto& [ticket, answer] : run.answers) {
      cancelled += answer.status == Status::cancelled ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(cancelled), (3'000 - 10e-3 * 47e3) / 2, 2);
    EXPECT_NEAR(end_s, static_cast<double>(3'000 - cancelled) / 47e3, 100e-6);
  }
}

// --- faults

TEST(Faults, TheSameRequestsFailInBoth) {
  Device device = round_flash(17'500);
  device.spec.seed = 11;
  device.spec.faults.read_error = 0.01;
  device.spec.faults.short_read = 0.01;
  FlashRun segments(device, Fidelity::segment);
  FlashRun requests(device, Fidelity::request);
  const backend::FaultInjector faults(device.spec.faults, 11);
  std::size_t failed = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<BlockId> blocks(80);
    std::iota(blocks.begin(), blocks.end(), 0);
    auto read = segments.commands.with_blocks(scheduler::CommandKind::read, blocks);
    read.merge_blocks = 4;  // 20 requests
    segments.submit(read);
    requests.submit(read);
    std::vector<BlockId> expected;
    for (int r = 0; r < 20; ++r) {
      const auto what = faults.read(read.ticket, r);
      if (what == backend::ReadFault::short_read) expected.push_back(4 * r + 3);
      for (int b = 0; b < 4 && what == backend::ReadFault::error; ++b)
        expected.push_back(4 * r + b);
    }
    segments.run(static_cast<std::size_t>(i) + 1);
    requests.run(static_cast<std::size_t>(i) + 1);
    for (FlashRun* run : {&segments, &requests}) {
      const auto& answer = run->answers[read.ticket];
      EXPECT_EQ(answer.not_read, expected);
      EXPECT_EQ(answer.status, expected.empty() ? Status::ok : Status::error);
    }
    failed += expected.empty() ? 0 : 1;
  }
  EXPECT_GT(failed, 5u);
  EXPECT_LT(failed, 35u);
}

TEST(Faults, ALateRequestEndsLater) {
  Device device = device_with(orin_flash(), 49'152);
  device.spec.faults.late = 0.02;
  device.spec.faults.late_by_ns = 2'000'000;
  const backend::FaultInjector faults(device.spec.faults, 0);
  double sum[2] = {0, 0};
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(device, fidelity);
    for (int i = 0; i < 40; ++i) {
      const double from_s = run.now_s();
      const TicketId ticket = run.submit(run.commands.read(30));
      const double took_s = run.run(static_cast<std::size_t>(i) + 1) - from_s;
      double expected_s = 10e-6 + 45e-6 + 29 / 47e3 + 49'152 / 3.5e9;
      for (int r = 0; r < 30; ++r) {
        if (faults.read(ticket, r) != backend::ReadFault::late) continue;
        const double own_s = 10e-6 + 45e-6 + r / 47e3 + 49'152 / 3.5e9 + 2e-3;
        expected_s = std::max(expected_s, own_s);
      }
      EXPECT_NEAR(took_s, expected_s, 1e-9);
      EXPECT_EQ(run.answers[ticket].status, Status::ok);
      sum[static_cast<int>(fidelity)] += took_s;
    }
  }
  EXPECT_GT(sum[0], 40 * 1e-3);
}

TEST(Faults, AStallMovesEverythingByItsLength) {
  for (const Fidelity fidelity : kFidelities) {
    for (const TimeNs from_ns : {20'000, 100'000, 300'000, 700'000}) {
      const Device device = device_with(orin_flash(), 49'152);
      FlashRun healthy(device, fidelity);
      healthy.submit(healthy.commands.read(20));
      const double without_s = healthy.run(1);
      Device stalling = device;
      stalling.spec.faults.stall_from_ns = from_ns;
      stalling.spec.faults.stall_for_ns = 5'000'000;
      FlashRun run(stalling, fidelity);
      run.submit(run.commands.read(20));
      run.run_until(seconds(from_ns));
      run.flash().set_health(true, 1);
      EXPECT_EQ(run.flash().demand(), 0);
      run.run_until(seconds(from_ns + 5'000'000));
      run.flash().set_health(false, 1);
      run.run(1);
      const double stall_s = seconds(from_ns) < without_s ? 5e-3 : 0;
      EXPECT_NEAR(run.answers[1].end_s, without_s + stall_s, 1e-11);
      if (fidelity == Fidelity::request && seconds(from_ns) < without_s) {
        const auto& ns = run.answers[1].request_ns;
        EXPECT_GT(*std::max_element(ns.begin(), ns.end()), 5'000'000);  // latency is the run's time
      }
    }
  }
}

TEST(Faults, ACollapseLeavesAPartOfTheBandwidth) {
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(device_with(orin_flash(), 1'000'000), fidelity);
    run.submit(run.commands.read(70));  // 7 GB/s: 10 ms; half of it at a tenth
    run.run_until(55e-6 + 5e-3);
    run.flash().set_health(false, 0.1);
    EXPECT_NEAR(run.run(1), 5e-3 + 50e-3, 1e-3);
  }
}

}  // namespace
}  // namespace leanstream::sim
