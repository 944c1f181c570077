// What accelerator and processor commands cost: bytes, operations and fixed times become flows.
//
//   time = fixed + max(bytes ÷ bandwidth, operations ÷ flops)          (roofline)
//
//   attention   ops    2 · weights · tokens + 4 · hidden · context · tokens; fixed: a command, and
//               as work so much for each row of weights and each query head
//   release     ops    2 · 3 · hidden · neurons · tokens; its bytes at the MLP's bandwidth;
//               fixed: its synchronisation, and as work so much for each block, part of it by
//               hidden
//   head        ops    2 · vocab · hidden (one token is sampled); fixed: a command, and by row
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
