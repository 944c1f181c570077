// When the final prediction of a layer is requested, and from which feature.
#pragma once

#include <cstdint>

#include "engine/scheduler/command.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::scheduler {

enum class Timing : std::uint8_t {
  known,           // everything is wanted: no prediction
  residual,        // at T_GPU(n−1), from the residual after the layer before
  own_input,       // at the end of attention(n), from the layer's own MLP input
  one_shot_ahead,  // at T_GPU(n−2), from the input of the layer before
};

Timing timing_of(const RunSpec& spec, const Policies& policies);

// Layer 0 is predicted from the embedding, which is the residual before it.
constexpr std::int32_t final_feature(Timing timing, LayerId layer) {
  if (timing == Timing::own_input) return kFeatureOwn;
  return timing == Timing::one_shot_ahead && layer != 0 ? kFeatureInput : kFeatureFinal;
}

}  // namespace leanstream::scheduler
