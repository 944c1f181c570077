// Synthetic traces: activations of a model's shape that no model computed (score_process.h says
// from which process). Equal arguments give equal bytes, whatever the compiler and the number of
// threads.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/types.h"
#include "engine/model/shape.h"
#include "traces/score_process.h"
#include "traces/trace_writer.h"

namespace leanstream::traces {

// A trace of `tokens` ≥ 1 tokens, ready to be written; holds its importance codes, one byte for
// each token, layer and neuron. `command` goes into the header. Throws UserError for knobs that no
// process can have, and beyond 16 GB.
TraceWriter synthesize(const model::ModelShape& shape, TokenId tokens, std::uint64_t seed,
                       const SynthesisKnobs& knobs, const std::string& command);

}  // namespace leanstream::traces
