// Continues a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/random.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/sampling.h"

namespace leanstream::transformer {

struct Generated {
  std::vector<std::int32_t> ids;  // the prompt and what follows
  std::vector<float> nll;         // nll[i] = −ln p(ids[i+1] | ids[0…i]) at temperature 1
};

// Runs the prompt (≥ 1 id) and up to `count` new tokens; all of them, the last included, go through
// the model and past the observer. Stops after `end` (−1: never). The prompt and `count` must fit
// the context.
Generated generate(const Model& model, std::span<const std::int32_t> prompt, std::int64_t count,
                   const SamplingRule& rule, RandomStream& random, std::int32_t end,
                   Observer& observer, const Progress& progress = {});

}  // namespace leanstream::transformer
