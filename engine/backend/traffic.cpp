#include "engine/backend/traffic.h"

#include "engine/base/check.h"

namespace leanstream::backend {

using scheduler::Command;
using scheduler::CommandKind;

double context(const Command& attention) {
  return static_cast<double>(attention.token) + attention.tokens;
}

double neurons(const WorldSpec& spec, const Command& release) {
  double sum = 0;
  for (const BlockId b : release.blocks) {
    LEANSTREAM_CHECK(b >= 0 && b < spec.geometry.blocks_per_layer, "block {} of command {}", b,
                     release.ticket);
    sum += spec.geometry.neurons(b);
  }
  return sum;
}

double accelerator_bytes(const WorldSpec& spec, const Command& command) {
  const model::ModelShape& shape = spec.shape;
  switch (command.kind) {
    case CommandKind::attention:
      return shape.layer_attention_bytes() +
             context(command) * shape.kv_bytes_per_token() / shape.layers;
    case CommandKind::release:
      return neurons(spec, command) * shape.bundle_bytes();
    case CommandKind::head:
      return shape.head_bytes();
    default:
      return 0;
  }
}

}  // namespace leanstream::backend
