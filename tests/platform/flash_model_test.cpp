#include "engine/platform/flash_model.h"

#include <gtest/gtest.h>

namespace leanstream::platform {
namespace {

const Flash kFlash{.bandwidth_bytes_per_s = 7e9,
                   .stream_bandwidth_bytes_per_s = 1.75e9,
                   .requests_per_s = 500e3,
                   .latency_ns = 80'000,
                   .queue_depth = 32,
                   .logical_block_bytes = 4096,
                   .link_bandwidth_bytes_per_s = 16e9};

double closed_s(const Flash& flash, double bytes, std::int64_t n) {
  return pace_of(flash, bytes).together_s(n);
}

TEST(FlashModel, OneRequestIsLatencyAndOneStream) {
  EXPECT_DOUBLE_EQ(closed_s(kFlash, 17'500, 1), 90e-6);
}

TEST(FlashModel, TheHostTakesOneAfterAnother) {
  auto flash = kFlash;
  flash.requests_per_s = 50e3;
  EXPECT_DOUBLE_EQ(closed_s(flash, 17'500, 100), 90e-6 + 99 * 20e-6);
}

TEST(FlashModel, FourChannelsShareTheBandwidth) {
  EXPECT_EQ(channels(kFlash), 4);
  const double x = 1e6 / 1.75e9;
  EXPECT_DOUBLE_EQ(closed_s(kFlash, 1e6, 4), 80e-6 + 3 * 2e-6 + x);
  EXPECT_DOUBLE_EQ(closed_s(kFlash, 1e6, 5), 80e-6 + 2 * x);
  EXPECT_DOUBLE_EQ(closed_s(kFlash, 1e6, 1000), 80e-6 + 1e9 / 7e9 + 3 * 2e-6);
}

TEST(FlashModel, TheLinkMayBeTheNarrowest) {
  auto flash = kFlash;
  flash.link_bandwidth_bytes_per_s = 1e9;
  EXPECT_EQ(channels(flash), 1);
  EXPECT_DOUBLE_EQ(closed_s(flash, 1e6, 1000), 80e-6 + 1.0);
}

TEST(FlashModel, AFractionOfAChannelIsSharedByAll) {
  auto flash = kFlash;
  flash.link_bandwidth_bytes_per_s = 4e9;  // 2.29 streams
  EXPECT_EQ(channels(flash), 3);
  EXPECT_DOUBLE_EQ(closed_s(flash, 1e6, 2), 80e-6 + 2e-6 + 1e6 / 1.75e9);
  EXPECT_DOUBLE_EQ(closed_s(flash, 1e6, 3), 80e-6 + 4e-6 + 3e6 / 4e9);
  EXPECT_DOUBLE_EQ(closed_s(flash, 1e6, 300), 80e-6 + 4e-6 + 300e6 / 4e9);
}

TEST(FlashModel, LatencyLimitsAFullQueue) {
  // 32 requests turn over every 90 us, slower than the host and the bandwidth could
  EXPECT_DOUBLE_EQ(closed_s(kFlash, 17'500, 1 + 32 * 30), 80e-6 + 30 * 90e-6 + 10e-6);
  auto flash = kFlash;
  flash.queue_depth = 1;
  EXPECT_DOUBLE_EQ(closed_s(flash, 17'500, 100), 100 * 90e-6);
}

TEST(FlashModel, UnequalRequestsGoToTheNextFreeChannel) {
  auto flash = kFlash;
  flash.bandwidth_bytes_per_s = 3.5e9;  // two channels
  flash.requests_per_s = 1e9;
  std::vector<double> ends_s;
  together_s(flash, std::vector<double>{7e6, 1.75e6, 1.75e6, 3.5e6}, ends_s);
  ASSERT_EQ(ends_s.size(), 4u);
  EXPECT_NEAR(ends_s[0], 80e-6 + 4e-3, 1e-8);
  EXPECT_NEAR(ends_s[2], 80e-6 + 4e-3, 1e-8);  // beside the first, which ends later
  EXPECT_NEAR(ends_s[3], 80e-6 + 4e-3, 1e-8);
}

// The closed form is the recursion's own solution.
TEST(FlashModel, EqualRequestsAgreeWithTheEquations) {
  for (const double bytes : {4096.0, 17'500.0, 49'152.0, 1e6}) {
    std::vector<double> ends_s;
    together_s(kFlash, std::vector<double>(2000, bytes), ends_s);
    for (const std::int64_t n : {1, 2, 3, 4, 5, 31, 32, 33, 64, 100, 500, 2000}) {
      const double exact = ends_s[static_cast<std::size_t>(n - 1)];
      EXPECT_NEAR(closed_s(kFlash, bytes, n) / exact, 1, 0.005) << n << " of " << bytes;
    }
  }
}

}  // namespace
}  // namespace leanstream::platform
