#include "sim/flash_model.h"

#include <gtest/gtest.h>

#include "sim/read_lane.h"
#include "tests/sim/device.h"

namespace leanstream::sim {
namespace {

const platform::Flash kFlash = round_device().flash;  // 7 GB/s, 1.75 a stream, 500k, 80 us, 32

TEST(FlashModel, OneRequestIsOneStream) {
  EXPECT_DOUBLE_EQ(transfer_s(kFlash, {1, 175'000}), 100e-6);
}

TEST(FlashModel, SmallRequestsMeetTheRequestLimit) {
  auto flash = kFlash;
  flash.latency_ns = 0;
  EXPECT_DOUBLE_EQ(transfer_s(flash, {100'000, 100'000 * Bytes{512}}), 100'000 / 500e3);
}

TEST(FlashModel, LargeRequestsMeetTheBandwidth) {
  EXPECT_DOUBLE_EQ(transfer_s(kFlash, {1000, 1000 * Bytes{1'000'000}}), 1e9 / 7e9);
}

TEST(FlashModel, TheLinkMayBeTheNarrowest) {
  auto flash = kFlash;
  flash.link_bandwidth_bytes_per_s = 4e9;
  EXPECT_DOUBLE_EQ(transfer_s(flash, {1000, 1000 * Bytes{1'000'000}}), 1e9 / 4e9);
}

TEST(FlashModel, LatencyLimitsAFullQueue) {
  // 32 requests turn over every 80 us + 17,500 B / 1.75 GB/s = 90 us: 6.22 GB/s < 7.
  const double rate = 32 * 17'500 / 90e-6;
  EXPECT_DOUBLE_EQ(steady_rate(kFlash, 17'500), rate);
  const double expected = 32 * 17'500 / 7e9 + 968 * 17'500 / rate;
  EXPECT_DOUBLE_EQ(transfer_s(kFlash, {1000, 1000 * Bytes{17'500}}), expected);
}

TEST(FlashModel, MixedSizesCountAndBytesMatter) {
  const ReadLoad mixed{3, 4096 + 4096 + 12'288 * 3};
  EXPECT_DOUBLE_EQ(mixed.mean_bytes(), 15'018.0 + 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(transfer_s(kFlash, mixed), static_cast<double>(mixed.bytes) / (3 * 1.75e9));
}

TEST(FlashModel, LanesShareTheRequestLimit) {
  const double same[] = {4096, 4096};
  EXPECT_DOUBLE_EQ(shared_capacity(kFlash, same), 500e3 * 4096);
  const double mixed[] = {4096, 12'288};  // equal bytes: three small requests to a large one
  EXPECT_DOUBLE_EQ(shared_capacity(kFlash, mixed), 500e3 * 6144);
}

Flow only(const ReadLane& lane, double now_s) {
  return lane.front_flow(now_s);
}

TEST(ReadLane, AQueuedReadHidesItsLatency) {
  ReadLane lane(kFlash);
  Commands commands;
  lane.push(commands.read(1), {1, 17'500}, 0);
  lane.push(commands.read(1), {1, 17'500}, 0);
  const Flow first = only(lane, 0);
  EXPECT_DOUBLE_EQ(first.delay_s, 85e-6);
  EXPECT_DOUBLE_EQ(first.bytes_per_s, 1.75e9);
  lane.pop(95e-6);
  const Flow second = only(lane, 95e-6);
  EXPECT_DOUBLE_EQ(second.delay_s, 0);
  lane.push(commands.read(1), {1, 17'500}, 100e-6);
  lane.pop(105e-6);
  EXPECT_NEAR(only(lane, 105e-6).delay_s, 75e-6, 1e-15);  // entered at 100 us
}

TEST(ReadLane, SingleRequestsKeptOutstandingReachTheSteadyRate) {
  ReadLane lane(kFlash);
  Commands commands;
  for (int i = 0; i < 32; ++i) lane.push(commands.read(1), {1, 17'500}, 0);
  double now = 0;
  double from = 0;
  for (int i = 0; i < 32'000; ++i) {
    if (i == 3'200) from = now;
    now += only(lane, now).alone_s();
    lane.push(commands.read(1), {1, 17'500}, now);
    lane.pop(now);
  }
  const double rate = 28'800 * 17'500 / (now - from);
  EXPECT_NEAR(rate / steady_rate(kFlash, 17'500), 1.0, 0.1);
}

TEST(ReadLane, AWholeQueueOfReadsEntersOnlyAsDeepAsTheDevice) {
  ReadLane lane(kFlash);
  Commands commands;
  for (int i = 0; i < 3'200; ++i) lane.push(commands.read(1), {1, 17'500}, 0);
  double now = 0;
  while (!lane.empty()) {
    now += only(lane, now).alone_s();
    lane.pop(now);
  }
  EXPECT_NEAR(now / (3'200 * 17'500 / steady_rate(kFlash, 17'500)), 1.0, 0.1);
}

}  // namespace
}  // namespace leanstream::sim
