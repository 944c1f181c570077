// Synthetic traces: activations of a model's shape that no model computed, drawn from a fit to
// recorded ones (activation_fit.h, latent_factors.h). Equal arguments give equal bytes, whatever
// the compiler and the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "engine/model/shape.h"
#include "traces/score_process.h"
#include "traces/trace_writer.h"

namespace leanstream::traces {

struct SynthesisRequest {
  model::ModelShape shape{};
  TokenId tokens = 256;  // ≥ 1
  std::uint64_t seed = 1;
  bool features = false;     // the factors, with noise, as the trace's features
  std::string magnitudes{};  // for the header: where they are from when not from the fit
  std::string command{};     // for the header
  int threads = 0;           // 0: as many as are sensible
};

// A trace that is ready to be written.
struct Synthesis {
  TraceWriter writer;
  std::vector<std::uint16_t> features;  // `writer` points here
};

// Holds one byte for each token, layer and neuron, and the features. Throws UserError, all reasons
// at once, for knobs that no process can have, beyond 16 GB, and for features that the shape or the
// fit cannot have.
Synthesis synthesize(const SynthesisRequest& request, const ActivationFit& fit,
                     const SynthesisKnobs& knobs);

}  // namespace leanstream::traces
