// Misses of caches over a sequence of sets: traces/README.md, "Miss ratios", states the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/activations.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/scheduler/run_spec.h"
#include "traces/active_sets.h"

namespace leanstream::traces {

using CacheChoice = policy::Registry<policy::CachePolicy>::Choice;

// A policy as a system file chooses it: "lru" or "{policy: window, tokens: 5}". Throws UserError.
CacheChoice cache_choice(const std::string& yaml);

// The blocks that every token wants of every layer; a "neuron" of `sets` is a block. units(token,
// layer, out) gives what policy::CachePolicy::scored() is told.
struct BlockAccesses {
  SetSequence sets;
  std::function<void(TokenId, LayerId, std::span<std::uint32_t>)> units;
};

// The active sets at one density, in blocks of `block_neurons` neighbours chosen by their summed
// importance (Select::blocks). The activations outlive what is returned.
BlockAccesses block_accesses(const model::Activations& activations, double density,
                             std::int32_t block_neurons);

enum class Lookup : std::uint8_t {
  set,     // a step's wanted set is compared with the cache before anything of it is evicted
  access,  // block after block, in rising order
};

struct ReplayRules {
  scheduler::Scope scope = scheduler::Scope::shared;
  Lookup lookup = Lookup::set;
  TokenId from_token = 0;  // misses count from here; the tokens before are the prompt
};

// Blocks wanted in tokens ≥ from_token.
std::int64_t wanted_from(const SetSequence& sets, TokenId from_token);

// Misses in tokens ≥ rules.from_token of a cache that is empty at token 0, for each size in slots.
// `lru` is one pass for all sizes (scheduler/stack_distances.h), `belady` the bound that no cache
// of the same scope and look-up can beat (scheduler/belady.h); every other policy is replayed size
// by size. Throws UserError where a policy cannot be made, or a size leaves a layer without a slot.
std::vector<std::int64_t> misses(const CacheChoice& policy, const BlockAccesses& accesses,
                                 std::span<const SlotId> sizes, const ReplayRules& rules);

// The same by the policy object itself, whatever it is called.
std::int64_t replay(const CacheChoice& policy, const BlockAccesses& accesses, SlotId slots,
                    const ReplayRules& rules);

// What `trace info` shows: one cache for all layers, looked up set by set.
enum class Replay {
  kStaticHottest,  // fixed: the neurons used most often in the first half; of equal, lower ids
  kLru,
  kLfu,
  kBelady,
};

std::int64_t misses(Replay policy, const SetSequence& sets, std::int64_t capacity,
                    TokenId from_token);

// The same ÷ the neurons wanted in tokens ≥ from_token; 0 when none are.
double miss_ratio(Replay policy, const SetSequence& sets, std::int64_t capacity,
                  TokenId from_token);

// min(200, tokens ÷ 2): the tokens before which published figures do not count.
TokenId warm_up_tokens(TokenId tokens);

}  // namespace leanstream::traces
