// What accelerator and processor commands cost: bytes, operations and fixed times become flows.
//
//   time = synchronisation + max(bytes ÷ bandwidth, operations ÷ flops)          (roofline)
//
//   attention   bytes  weights of the layer + keys and values of context = token + tokens positions
//               ops    2 · weights · tokens + 4 · hidden · context · tokens
//   release     bytes  neurons · bundle_bytes, at the MLP's bandwidth
//               ops    2 · 3 · hidden · neurons · tokens
//   head        bytes  head_bytes; ops 2 · vocab · hidden (one token is sampled)
//   begin_layer, end_layer: nothing
//
// In prefill (tokens > 1) the bytes of activations are neglected: they are read and written once
// per layer, a share tokens ÷ ffn of the weights, and stay in caches. Causal attention is charged
// its full square.
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
