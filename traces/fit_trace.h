// Measures a recorded trace for the generator of synthetic ones.
#pragma once

#include <span>

#include "traces/activation_fit.h"
#include "traces/trace.h"

namespace leanstream::traces {

// The fit to traces of one model, from the sets of their top `density` neurons: pairs of tokens of
// one trace say how the overlap of their sets falls with distance, whether they are the same token
// and where they stand. Of each trace the first 2,048 tokens count. Throws UserError, all reasons
// at once, for traces of different shapes, synthetic ones unless `allow_synthetic`, ones of fewer
// than 64 tokens, and a density out of (0, 1).
ActivationFit fit_traces(std::span<const Trace* const> traces, double density,
                         bool allow_synthetic);

}  // namespace leanstream::traces
