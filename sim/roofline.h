// What accelerator and processor commands cost: bytes, operations and fixed times become flows.
//
//   time = fixed + max(bytes ÷ bandwidth + pieces, operations ÷ flops)          (roofline)
//
//   attention   ops    2 · weights · tokens + 4 · hidden · context · tokens; pieces: so much for
//               each row of weights and each query head; fixed: a command
//   release     ops    hidden · tokens · (2 · 3 · neurons + block_operations · blocks); its bytes
//               at the MLP's bandwidth; pieces: so much for each jump to a block, part of it by
//               hidden; fixed: its synchronisation
//   head        ops    2 · vocab · hidden (one token is sampled); pieces: by row; fixed: a command
//   begin_layer, end_layer: nothing
//
// Bytes are those of engine/backend/traffic.h. Causal attention is charged its full square.
#pragma once

#include "engine/backend/world.h"
#include "engine/scheduler/command.h"
#include "sim/flow.h"

namespace leanstream::sim {

// What a released segment costs beyond its work, by the way accelerator and host meet.
double segment_delay_s(const backend::WorldSpec& spec);

// The flow of an accelerator command (any kind but read and predict).
Flow accelerator_flow(const backend::WorldSpec& spec, const scheduler::Command& command);

// The flow of one prediction of one layer: its bytes over its time; a timer when it has no bytes.
Flow prediction_flow(const backend::WorldSpec& spec);

}  // namespace leanstream::sim
