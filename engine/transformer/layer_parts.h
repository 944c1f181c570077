// What every way to run a layer computes in f32, whatever its weights are stored as.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/transformer/kernels.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {

inline float silu(float v) {
  return v / (1.0F + std::exp(-v));
}

}  // namespace leanstream::transformer
