// A sequence of plans for the controller that knows the future: coordinate descent over runs of the
// very same trace in simulation.
#pragma once

#include <functional>
#include <vector>

#include "engine/base/types.h"
#include "engine/policy/control/controller.h"

namespace leanstream::run {

using PlanSequence =
    std::vector<policy::StagePlan>;  // by decode step: decoded token · layers + layer

// How long decoding takes with a sequence; kNever when that run fails.
using DecodeTime = std::function<TimeNs(const PlanSequence&)>;

// Tries every plan of {1, 2, 4, 8, 16}² for all steps; then, in pieces of the (token, layer) plane
// that are halved from round to round, the neighbours of each piece's plan, and keeps what is
// faster. At most `runs` ≥ 1 calls. Deterministic; not proven optimal.
PlanSequence search_plans(std::int32_t tokens, LayerId layers, std::int32_t runs,
                          const DecodeTime& decode_time);

}  // namespace leanstream::run
