// Devices with overhead, span, batch and spread, against closed forms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/platform/flash_reach.h"
#include "platforms/calibration/closed_loop.h"
#include "sim/spread.h"
#include "tests/sim/kept_queue.h"

namespace leanstream::sim {
namespace {

using calibration::closed_loop;

// Like the virtual disk that was measured (platforms/measured): one by one and without chance.
platform::Flash disk() {
  platform::Flash flash = round_device().flash;
  flash.bandwidth_bytes_per_s = 1.5e9;
  flash.stream_bandwidth_bytes_per_s = 600e6;
  flash.requests_per_s = 1e9;
  flash.latency_ns = 35'000;
  flash.queue_depth = 64;
  flash.io_segment_overhead_ns = 0;
  flash.request_overhead_bytes = 4000;
  flash.span_bytes = 4'000'000;
  return flash;
}

platform::Flash with(platform::Flash flash, std::int32_t batch, double spread) {
  flash.batch = batch;
  flash.spread = spread;
  return flash;
}

TEST(RefinedFlash, OneRequestIsLatencyOverheadAndOneStream) {
  const double s = 35e-6 + (96'000.0 + 4000.0) / 600e6;
  for (const Fidelity fidelity : kFidelities) {
    FlashRun run(device_with(disk(), 96'000), fidelity, kBus);
    run.submit(run.commands.read(1));
    EXPECT_NEAR(run.run(1) / s, 1, 1e-9);
  }
}

// All of a batch share what their bytes engage and are told together: to 0.1 % without chance.
TEST(RefinedFlash, ADepthSweepInBatches) {
  const platform::Flash flash = with(disk(), 64, 0);
  for (const Bytes bytes : {4'096, 16'384, 131'072, 524'288}) {
    for (const int depth : {1, 4, 16, 64}) {
      const auto exact = closed_loop(flash, static_cast<double>(bytes), depth);
      const Loop loop = keep(flash, bytes, depth, 2'000);
      EXPECT_NEAR(loop.requests_per_s / exact.requests_per_s, 1, 1e-3) << depth << " of " << bytes;
      EXPECT_NEAR(loop.quantile(0.5) / exact.p50_s, 1, 1e-3) << depth << " of " << bytes;
    }
  }
}

TEST(RefinedFlash, ASaturatedQueueMovesTheReach) {
  platform::Flash flash = with(disk(), 1, 0.25);
  flash.request_overhead_bytes = 0;
  const double rate = platform::reach(flash, 1.5e9, 64.0 * 262'144);
  EXPECT_NEAR(rate, 1.5e9 * 16.777216 / 20.777216, 1);
  const Loop loop = keep(flash, 262'144, 64, 100'000);
  EXPECT_NEAR(loop.requests_per_s * 262'144 / rate, 1, 0.01);
}

// The product form, whatever the distribution: means over 100,000 requests to 1 %.
TEST(RefinedFlash, ADepthSweepOneByOne) {
  const platform::Flash flash = with(disk(), 1, 0.25);
  for (const int depth : {1, 2, 4, 8, 32}) {
    const double exact = closed_loop(flash, 16'384, depth).requests_per_s;
    EXPECT_NEAR(keep(flash, 16'384, depth, 100'000).requests_per_s / exact, 1, 0.01) << depth;
  }
}

// Sizes drawn at random: the product form with the mean size, also insensitive to that.
TEST(RefinedFlash, MixedSizesAreTheirMean) {
  platform::Flash flash = with(disk(), 1, 0.25);
  flash.span_bytes = 0;
  RandomStream random(3, "test.refined");
  const auto blocks = [&random] { return random.next_below(4) == 0 ? 13 : 1; };
  const double exact = closed_loop(flash, 4.0 * 8'192, 8).requests_per_s;
  const Loop loop = keep(flash, 8'192, 8, 100'000, 1, blocks);
  EXPECT_NEAR(loop.requests_per_s / exact, 1, 0.01);
}

TEST(RefinedFlash, LatenciesAreLogNormal) {
  for (const auto& [batch, depth] : {std::pair{1, 1}, std::pair{16, 16}}) {
    const platform::Flash flash = with(disk(), batch, 0.25);
    const auto exact = closed_loop(flash, 16'384, depth);
    const Loop loop = keep(flash, 16'384, depth, 100'000);
    EXPECT_NEAR(loop.mean_s() * exact.requests_per_s / depth, 1, 0.01);
    EXPECT_NEAR(loop.quantile(0.5) / exact.p50_s, 1, 0.02) << depth;
    EXPECT_NEAR(loop.quantile(0.99) / exact.p99_s, 1, 0.04) << depth;
  }
}

TEST(RefinedFlash, TheHostLimitsSmallRequests) {
  platform::Flash flash = with(disk(), 1, 0.25);
  flash.requests_per_s = 20e3;
  EXPECT_EQ(closed_loop(flash, 4'096, 32).requests_per_s, 20e3);
  EXPECT_NEAR(keep(flash, 4'096, 32, 10'000).requests_per_s / 20e3, 1, 1e-3);
}

// In one read, which an idle device gets: turns of the queue where a batch is told together.
TEST(RefinedFlash, BurstsEndAsTheClosedFormSays) {
  for (const std::int32_t batch : {1, 64}) {
    const platform::Flash flash = with(disk(), batch, 0);
    for (const int count : {1, 5, 64, 65, 200}) {
      FlashRun run(device_with(flash, 16'384), Fidelity::request, kBus);
      run.submit(run.commands.read(count));
      const double exact_s = count / calibration::together(flash, 16'384, count).requests_per_s;
      EXPECT_NEAR(run.run(1) / exact_s, 1, batch == 1 && count > 64 ? 0.02 : 1e-3)
          << count << " in batches of " << batch;
    }
  }
}

// A pause for as many requests as take 5 ms, on average.
TEST(RefinedFlash, PausesTakeTheirShareOfTime) {
  platform::Flash flash = with(disk(), 1, 0.25);
  const double steady = closed_loop(flash, 16'384, 64).requests_per_s;
  flash.pause_ns = 1'000'000;
  flash.pause_requests = static_cast<std::int32_t>(std::lround(5e-3 * steady));
  const auto exact = closed_loop(flash, 16'384, 64);
  EXPECT_NEAR(exact.requests_per_s / steady, 5.0 / 6, 0.01);
  const Loop loop = keep(flash, 16'384, 64, 400'000);
  EXPECT_NEAR(loop.requests_per_s / exact.requests_per_s, 1, 0.01);
  EXPECT_NEAR(loop.quantile(0.5) / exact.p50_s, 1,
              0.2);  // a part of what is usual has a pause too
}

TEST(RefinedFlash, NothingEndsInAPause) {
  platform::Flash flash = with(disk(), 1, 0);
  flash.pause_ns = 1'000'000;
  flash.pause_requests = 1;
  for (const Fidelity fidelity : kFidelities) {
    // Some 200 pauses of a millisecond.
    FlashRun run(device_with(flash, 94'000), fidelity, kBus);
    run.submit(run.commands.read(200));
    EXPECT_NEAR(run.run(1), 200e-3 + 200 * 94e3 / 3e9, 45e-3);
  }
}

TEST(RefinedFlash, TheSeedDecides) {
  const platform::Flash flash = with(disk(), 1, 0.25);
  const Loop first = keep(flash, 16'384, 8, 2'000, 5);
  EXPECT_EQ(keep(flash, 16'384, 8, 2'000, 5).latency_s, first.latency_s);
  EXPECT_NE(keep(flash, 16'384, 8, 2'000, 6).latency_s, first.latency_s);
}

TEST(RefinedFlash, ACancelInsideABatchEndsTheRest) {
  platform::Flash flash = with(disk(), 64, 0.25);
  flash.requests_per_s = 100e3;
  FlashRun run(device_with(flash, 16'384), Fidelity::request, kBus);
  const TicketId first = run.submit(run.commands.read(200));
  const TicketId second = run.submit(run.commands.read(5));
  run.run_until(305e-6);  // one is taken each 10 us
  run.cancel(first);
  run.run(2);
  EXPECT_EQ(run.answers.at(first).request_ns.size(), 31u);
  EXPECT_EQ(run.answers.at(first).not_read.size(), 169u);
  EXPECT_EQ(run.answers.at(second).request_ns.size(), 5u);
}

TEST(Spread, FactorsHaveMeanOneAndTheQuantilesOfALogNormal) {
  for (const double sigma : {0.05, 0.25, 1.0}) {
    const auto factors = lognormal_factors(sigma);
    const double sum = std::accumulate(factors.begin(), factors.end(), 0.0);
    EXPECT_NEAR(sum / static_cast<double>(factors.size()), 1, 1e-12);
    EXPECT_TRUE(std::is_sorted(factors.begin(), factors.end()));
    const double median = 0.5 * (factors[2047] + factors[2048]);
    EXPECT_NEAR(factors[4055] / median, std::exp(2.3263 * sigma), 0.01 * factors[4055] / median);
    EXPECT_NEAR(median, std::exp(-0.5 * sigma * sigma), 0.01);
  }
  // The same bits on every compiler and library.
  Fnv64 hash;
  for (const double factor : lognormal_factors(0.25)) {
    hash.add(std::bit_cast<std::uint64_t>(factor));
  }
  EXPECT_EQ(hash.value(), 3948671242918854200u);
}

}  // namespace
}  // namespace leanstream::sim
