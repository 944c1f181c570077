// Bytes that a command of the accelerator draws from memory, the same for the simulated bus and for
// the energy of any world.
//
//   attention   weights of the layer + keys and values of context = token + tokens positions
//   release     neurons · bundle_bytes
//   head        head_bytes
//
// In prefill (tokens > 1) the bytes of activations are neglected: they are read and written once
// per layer, a share tokens ÷ ffn of the weights, and stay in caches.
#pragma once

#include "engine/backend/world.h"
#include "engine/scheduler/command.h"

namespace leanstream::backend {

// Positions that an attention looks at.
double context(const scheduler::Command& attention);
// Neurons of the blocks of a release. Fails for a block that the geometry does not have.
double neurons(const WorldSpec& spec, const scheduler::Command& release);
// Zero for a kind that is not above.
double accelerator_bytes(const WorldSpec& spec, const scheduler::Command& command);

}  // namespace leanstream::backend
