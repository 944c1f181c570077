#include "sim/roofline.h"

#include <gtest/gtest.h>

#include "tests/sim/device.h"

namespace leanstream::sim {
namespace {

using scheduler::CommandKind;

// The bytes over the bandwidth, where memory is the limit.
TEST(Roofline, AttentionReadsWeightsAndContext) {
  Device device;
  Commands commands;
  auto command = commands.make(CommandKind::attention);
  command.token = 9;  // with its own, ten positions of 2 · 10 · 100 · 2 bytes
  const Flow flow = accelerator_flow(device.spec, command);
  EXPECT_DOUBLE_EQ(flow.bytes, 8'000'000 + 10 * 4'000);
  EXPECT_DOUBLE_EQ(flow.bytes_per_s, 50e9);
  EXPECT_EQ(flow.delay_s, 0);
}

TEST(Roofline, AttentionAndHeadCostACommandBesides) {
  Device device;
  device.platform.accelerator.command_ns = 4'000;
  Commands commands;
  for (const auto kind : {CommandKind::attention, CommandKind::head}) {
    EXPECT_EQ(accelerator_flow(device.spec, commands.make(kind)).delay_s, 4e-6);
  }
}

TEST(Roofline, PrefillIsBoundByOperations) {
  Device device;
  Commands commands;
  auto command = commands.make(CommandKind::attention);
  command.tokens = 1000;
  const Flow flow = accelerator_flow(device.spec, command);
  const double operations = 2 * 4e6 * 1e3 + 4.0 * 1000 * 1000 * 1000;
  EXPECT_DOUBLE_EQ(flow.alone_s(), operations / 10e12);
  auto release = commands.release(2000);
  release.tokens = 1000;
  EXPECT_DOUBLE_EQ(accelerator_flow(device.spec, release).alone_s(),
                   20e-6 + 6.0 * 1000 * 4000 * 1000 / 10e12);
}

TEST(Roofline, AReleaseCostsItsNeuronsAndItsSynchronisation) {
  Device device;
  Commands commands;
  const auto command = commands.release(100);
  const std::pair<backend::Synchronisation, double> costs[] = {
      {backend::Synchronisation::flags, 1e-6},
      {backend::Synchronisation::polling, 5e-6},
      {backend::Synchronisation::device, 20e-6}};
  for (const auto& [method, delay_s] : costs) {
    device.spec.synchronisation = method;
    const Flow flow = accelerator_flow(device.spec, command);
    EXPECT_DOUBLE_EQ(flow.bytes, 200 * 6'000);  // useful bytes, without the padding
    EXPECT_DOUBLE_EQ(flow.delay_s, delay_s);
    EXPECT_DOUBLE_EQ(flow.alone_s(), delay_s + 30e-6);
  }
}

TEST(Roofline, ABlockThatDoesNotFollowInMemoryCostsAJump) {
  Device device;  // hidden 1,000
  Commands commands;
  auto release = commands.release(4);
  const double before_s = accelerator_flow(device.spec, release).alone_s();
  device.platform.accelerator.jump_ns = 200;
  device.platform.accelerator.jump_vector_bytes = 2;
  const auto jumps = [&](std::vector<SlotId> slots) {
    release.slots = slots;
    const double more_s = accelerator_flow(device.spec, release).alone_s() - before_s;
    return more_s / (200e-9 + 2'000 / 40e9);
  };
  EXPECT_NEAR(jumps({5, 6, 7, 8}), 1, 1e-6);
  EXPECT_NEAR(jumps({8, 7, 6, 5}), 4, 1e-6);
  EXPECT_NEAR(jumps({5, 6, 9, 10}), 2, 1e-6);
  EXPECT_NEAR(jumps({}), 4, 1e-6);  // not known where
}

TEST(Roofline, ABlockCostsOperationsOfItsOwn) {
  Device device;  // hidden 1,000, two neurons a block, 10 TFLOPS
  device.platform.accelerator.block_operations = 4;
  Commands commands;
  auto release = commands.release(2000);
  release.tokens = 1000;
  EXPECT_DOUBLE_EQ(accelerator_flow(device.spec, release).alone_s(),
                   20e-6 + 1000 * (6.0 * 4000 + 4.0 * 2000) * 1000 / 10e12);
  release.tokens = 1;  // bytes bound it
  EXPECT_DOUBLE_EQ(accelerator_flow(device.spec, release).alone_s(), 20e-6 + 4000 * 6'000 / 40e9);
}

TEST(Roofline, RowsAndHeadsCostBesideBytes) {
  Device device;  // hidden 1,000, 10 heads as keys and values have, 5,000 tokens
  Commands commands;
  const auto time_s = [&](const scheduler::Command& command) {
    return accelerator_flow(device.spec, command).alone_s();
  };
  const auto attention = commands.make(CommandKind::attention);
  const auto head = commands.make(CommandKind::head);
  const double before_s[] = {time_s(attention), time_s(head)};
  device.platform.accelerator.row_ns = 10;
  device.platform.accelerator.attention_head_ns = 4'000;
  EXPECT_NEAR(time_s(attention) - before_s[0], 4'000 * 10e-9 + 10 * 4e-6, 1e-15);
  EXPECT_NEAR(time_s(head) - before_s[1], 5'000 * 10e-9, 1e-15);
}

TEST(Roofline, TheLastBlockMayBeShort) {
  Device device;
  device.spec.geometry.ffn = 3'999;
  Commands commands;
  EXPECT_DOUBLE_EQ(accelerator_flow(device.spec, commands.release(2000)).bytes, 3'999 * 6'000);
}

TEST(Roofline, HeadAndBordersOfALayer) {
  Device device;
  Commands commands;
  auto head = commands.make(CommandKind::head);
  head.tokens = 7;  // one token is sampled all the same
  EXPECT_DOUBLE_EQ(accelerator_flow(device.spec, head).alone_s(), 10e6 / 50e9);
  EXPECT_TRUE(accelerator_flow(device.spec, commands.make(CommandKind::begin_layer)).instant());
  EXPECT_TRUE(accelerator_flow(device.spec, commands.make(CommandKind::end_layer)).instant());
}

TEST(Roofline, APredictionIsItsBytesOverItsTime) {
  Device device;
  const Flow flow = prediction_flow(device.spec);
  EXPECT_DOUBLE_EQ(flow.bytes, 1'000'000);
  EXPECT_DOUBLE_EQ(flow.alone_s(), 100e-6);
  device.spec.prediction.bytes = 0;
  EXPECT_DOUBLE_EQ(prediction_flow(device.spec).delay_s, 100e-6);
  device.spec.prediction.time_ns = 0;
  EXPECT_TRUE(prediction_flow(device.spec).instant());
}

}  // namespace
}  // namespace leanstream::sim
