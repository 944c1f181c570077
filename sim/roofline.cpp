#include "sim/roofline.h"

#include <algorithm>

#include "engine/backend/traffic.h"
#include "engine/base/check.h"
#include "engine/platform/platform.h"

namespace leanstream::sim {
namespace {

using scheduler::Command;
using scheduler::CommandKind;

struct Work {
  double bytes = 0;
  double operations = 0;
  double pieces_s = 0;  // of what its bytes are made of
};

Flow roofline(const Work& work, double bandwidth, double flops, double delay_s) {
  LEANSTREAM_CHECK(bandwidth > 0 && flops > 0, "bandwidth {}, flops {}", bandwidth, flops);
  const double time_s = std::max(work.bytes / bandwidth + work.pieces_s, work.operations / flops);
  if (work.bytes <= 0) return {0, delay_s + time_s, 0};
  return {work.bytes, delay_s, work.bytes / time_s};
}

Flow attention(const backend::WorldSpec& spec, const Command& command) {
  const model::ModelShape& shape = spec.shape;
  const double tokens = command.tokens;
  const double operations = 2.0 * shape.layer_attention_weights() * tokens +
                            4.0 * shape.hidden * backend::context(command) * tokens;
  const auto& device = spec.platform->accelerator;
  const double rows = shape.layer_attention_weights() / shape.hidden;
  const double pieces_s =
      rows * seconds(device.row_ns) + shape.heads * seconds(device.attention_head_ns);
  return roofline({backend::accelerator_bytes(spec, command), operations, pieces_s},
                  device.bandwidth_bytes_per_s, device.flops_per_s, seconds(device.command_ns));
}

// Blocks that do not lie behind the one before in memory: the first is one of them.
std::size_t jumps(const Command& command) {
  std::size_t count = command.blocks.size();
  for (std::size_t i = 1; i < command.slots.size(); ++i) {
    count -= command.slots[i] == command.slots[i - 1] + 1 ? 1 : 0;
  }
  return count;
}

Flow release(const backend::WorldSpec& spec, const Command& command) {
  const double neurons = backend::neurons(spec, command);
  const auto blocks = static_cast<double>(command.blocks.size());
  const auto& device = spec.platform->accelerator;
  const double jump_s = seconds(device.jump_ns) + device.jump_vector_bytes * spec.shape.hidden /
                                                      device.mlp_bandwidth_bytes_per_s;
  const Work work{
      neurons * spec.shape.bundle_bytes(),
      spec.shape.hidden * (6.0 * neurons + device.block_operations * blocks) * command.tokens,
      static_cast<double>(jumps(command)) * jump_s};
  return roofline(work, device.mlp_bandwidth_bytes_per_s,
                  device.mlp_flops_per_s.value_or(device.flops_per_s), segment_delay_s(spec));
}

Flow head(const backend::WorldSpec& spec, const Command& command) {
  const auto& device = spec.platform->accelerator;
  return roofline(
      {backend::accelerator_bytes(spec, command), 2.0 * spec.shape.vocab * spec.shape.hidden,
       spec.shape.vocab * seconds(device.row_ns)},
      device.bandwidth_bytes_per_s, device.flops_per_s, seconds(device.command_ns));
}

}  // namespace

double segment_delay_s(const backend::WorldSpec& spec) {
  const auto& device = spec.platform->accelerator;
  switch (spec.synchronisation) {
    case backend::Synchronisation::flags:
      return seconds(device.flags_segment_ns);
    case backend::Synchronisation::polling:
      return seconds(device.polling_segment_ns);
    case backend::Synchronisation::device:
      return seconds(device.device_segment_ns);
  }
  LEANSTREAM_CHECK(false, "unknown synchronisation");
  return 0;
}

Flow accelerator_flow(const backend::WorldSpec& spec, const Command& command) {
  switch (command.kind) {
    case CommandKind::attention:
      return attention(spec, command);
    case CommandKind::release:
      return release(spec, command);
    case CommandKind::head:
      return head(spec, command);
    case CommandKind::begin_layer:
    case CommandKind::end_layer:
      return {};
    case CommandKind::read:
    case CommandKind::predict:
    case CommandKind::cancel:
      break;
  }
  LEANSTREAM_CHECK(false, "{} is no command of the accelerator", name_of(command.kind));
  return {};
}

Flow prediction_flow(const backend::WorldSpec& spec) {
  const backend::PredictionCharge& charge = spec.prediction;
  LEANSTREAM_CHECK(charge.time_ns >= 0, "a prediction of {} ns", charge.time_ns);
  // Bytes in no time would need a bus without limit: the bus alone decides how long they take.
  const auto bytes = static_cast<double>(charge.bytes);
  if (charge.bytes > 0 && charge.time_ns == 0) {
    return {bytes, 0, spec.platform->memory.bandwidth_bytes_per_s};
  }
  if (charge.bytes == 0) return {0, seconds(charge.time_ns), 0};
  return {bytes, 0, bytes / seconds(charge.time_ns)};
}

}  // namespace leanstream::sim
