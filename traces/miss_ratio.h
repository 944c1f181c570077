// Cache replays of a sequence of sets: one cache for all layers, one neuron a block, set-wise
// look-up. A step misses every wanted neuron that is not in the cache; then all of them are in it
// and the policy evicts others until the rest fits. Only when nothing else is left, because the
// set is larger than the cache, neurons of the set itself are evicted, in the policy's order.
#pragma once

#include <cstdint>

#include "traces/active_sets.h"

namespace leanstream::traces {

enum class Replay {
  kStaticHottest,  // fixed: the neurons used most often in the first half; of equal, lower ids
  kLru,            // evicts what was used longest ago; of equal age, lower ids first
  kLfu,            // evicts the fewest uses since token 0 (counts survive eviction), then as kLru
  kBelady,         // the optimum with bypass (engine/scheduler/belady.h)
};

// Misses in tokens ≥ from_token of a cache of `capacity` ≥ 1 neurons that is empty at token 0.
// kBelady is a bound on exactly those misses: no cache has fewer there, whatever it does before.
std::int64_t misses(Replay policy, const SetSequence& sets, std::int64_t capacity,
                    TokenId from_token);

// The same ÷ the neurons wanted in tokens ≥ from_token; 0 when none are.
double miss_ratio(Replay policy, const SetSequence& sets, std::int64_t capacity,
                  TokenId from_token);

// min(200, tokens ÷ 2): the tokens before which published figures do not count.
TokenId warm_up_tokens(TokenId tokens);

}  // namespace leanstream::traces
