#include "traces/miss_ratio.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/config/document.h"
#include "engine/scheduler/belady.h"
#include "engine/scheduler/quotas.h"
#include "engine/scheduler/selection.h"
#include "engine/scheduler/stack_distances.h"
#include "traces/cache_replay.h"

namespace leanstream::traces {
namespace {

using scheduler::Quotas;
using scheduler::Scope;

// Calls visit(token, layer, set) in time order.
template <typename Visit>
void for_each_step(const SetSequence& sets, TokenId from, TokenId to, Visit&& visit) {
  for (TokenId t = from; t < to; ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) visit(t, l, sets.at(t, l));
  }
}

// One layer of a sequence, or all of them, as the future of a cache of its own.
class Part final : public policy::Future {
 public:
  Part(const SetSequence& sets, LayerId first, LayerId layers)
      : sets_(sets), first_(first), layers_(layers) {}

  LayerId first() const { return first_; }
  LayerId layers() const { return layers_; }
  TokenId tokens() const override { return sets_.tokens(); }
  BlockSet wanted(TokenId token, LayerId layer) const override { return at(token, layer); }
  const BlockSet& at(TokenId token, LayerId layer) const { return sets_.at(token, first_ + layer); }
  BlockId blocks() const { return sets_.ffn(); }

 private:
  const SetSequence& sets_;
  LayerId first_, layers_;
};

std::vector<Part> parts_of(const SetSequence& sets, Scope scope) {
  if (scope == Scope::shared) return {Part(sets, 0, sets.layers())};
  std::vector<Part> parts;
  for (LayerId l = 0; l < sets.layers(); ++l) parts.emplace_back(sets, l, 1);
  return parts;
}

// How the slots are split over the parts; `by_miss_curve` learns from the tokens before those that
// count.
std::vector<SlotId> split(const SetSequence& sets, SlotId slots, const ReplayRules& rules) {
  if (rules.scope == Scope::shared) return {slots};
  if (slots < sets.layers()) {
    throw UserError("a cache of {} blocks leaves some of {} layers without any", slots,
                    sets.layers());
  }
  Quotas quotas(rules.scope, sets.layers(), sets.ffn(), slots, 1);
  for_each_step(sets, 0, rules.from_token,
                [&](TokenId, LayerId l, const BlockSet& wanted) { quotas.prompt_used(l, wanted); });
  quotas.fix();
  std::vector<SlotId> of_layer;
  for (LayerId l = 0; l < sets.layers(); ++l) of_layer.push_back(quotas.of(l));
  return of_layer;
}

std::int64_t replay_part(const CacheChoice& choice, const BlockAccesses& accesses, const Part& part,
                         SlotId slots, const ReplayRules& rules) {
  const auto policy = choice.make({part.layers(), part.blocks(), slots, rules.from_token, &part});
  CacheReplay cache(*policy, part.layers(), part.blocks(), slots);
  std::vector<std::uint32_t> units(static_cast<std::size_t>(part.blocks()));
  std::int64_t missed = 0;
  StepId step = 0;
  for (TokenId t = 0; t < part.tokens(); ++t) {
    if (t == rules.from_token) {
      missed = 0;
      if (t > 0) cache.end_prompt(step);
    }
    for (LayerId l = 0; l < part.layers(); ++l, ++step) {
      if (policy->reads_scores()) {
        accesses.units(t, part.first() + l, units);
        policy->scored(l, units, step);
      }
      missed += rules.lookup == Lookup::set ? cache.use(l, part.at(t, l), step)
                                            : cache.use_one_by_one(l, part.at(t, l), step);
    }
  }
  return rules.from_token < part.tokens() ? missed : 0;
}

// Calls add(layer, blocks, step) for each look-up, and begins_to_count() before the first that
// counts.
template <typename Add, typename Begins>
void for_each_look_up(const Part& part, const ReplayRules& rules, Add&& add,
                      Begins&& begins_to_count) {
  BlockSet one(part.blocks());
  StepId step = 0;
  for (TokenId t = 0; t < part.tokens(); ++t) {
    if (t == rules.from_token) begins_to_count();
    for (LayerId l = 0; l < part.layers(); ++l, ++step) {
      if (rules.lookup == Lookup::set) {
        add(l, part.at(t, l), step);
        continue;
      }
      part.at(t, l).for_each([&](BlockId b) {
        one.set(b);
        add(l, one, step);
        one.reset(b);
      });
    }
  }
}

scheduler::StackDistances distances_of(const Part& part, const ReplayRules& rules) {
  scheduler::StackDistances distances(part.layers(), part.blocks());
  StepId step = 0;
  for (TokenId t = 0; t < part.tokens(); ++t) {
    if (t == rules.from_token) distances.forget_counts();
    for (LayerId l = 0; l < part.layers(); ++l, ++step) {
      const BlockSet& wanted = part.at(t, l);
      if (rules.lookup == Lookup::set) {
        distances.add(l, wanted, step);
      } else {
        wanted.for_each([&](BlockId b) { distances.add(l, b, step); });
      }
    }
  }
  if (rules.from_token >= part.tokens()) distances.forget_counts();
  return distances;
}

// Of each part a bound that answers for any size.
struct Bound {
  scheduler::BeladyBound bound;
  std::int64_t from = 0;  // the first look-up that counts
};

Bound bound_of(const Part& part, const ReplayRules& rules) {
  Bound b{scheduler::BeladyBound(part.layers(), part.blocks())};
  b.from = -1;
  for_each_look_up(
      part, rules, [&](LayerId l, const BlockSet& wanted, StepId) { b.bound.add(l, wanted); },
      [&] { b.from = b.bound.steps(); });
  if (b.from < 0) b.from = b.bound.steps();
  return b;
}

// Σ over the parts of misses_of(part, slots), at each size.
template <typename MissesOf>
std::vector<std::int64_t> sum_over_parts(const SetSequence& sets, std::span<const SlotId> sizes,
                                         const ReplayRules& rules, MissesOf&& misses_of) {
  std::vector<std::int64_t> missed;
  for (const SlotId slots : sizes) {
    const auto of_part = split(sets, slots, rules);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < of_part.size(); ++i) sum += misses_of(i, of_part[i]);
    missed.push_back(sum);
  }
  return missed;
}

std::int64_t static_hottest(const SetSequence& sets, std::int64_t capacity, TokenId from_token) {
  std::vector<std::int32_t> uses(static_cast<std::size_t>(sets.neurons()));
  const TokenId half = sets.tokens() / 2;
  for_each_step(sets, 0, half, [&](TokenId, LayerId l, const BlockSet& wanted) {
    wanted.for_each([&](BlockId b) { ++uses[static_cast<std::size_t>(l * sets.ffn() + b)]; });
  });
  std::vector<std::int32_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return uses[static_cast<std::size_t>(a)] > uses[static_cast<std::size_t>(b)];
  });
  std::vector<BlockSet> resident(static_cast<std::size_t>(sets.layers()), BlockSet(sets.ffn()));
  for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(capacity)); ++i) {
    resident[static_cast<std::size_t>(order[i] / sets.ffn())].set(order[i] % sets.ffn());
  }
  std::int64_t missed = 0;
  for_each_step(sets, from_token, sets.tokens(), [&](TokenId, LayerId l, const BlockSet& wanted) {
    missed += wanted.count() - wanted.count_common(resident[static_cast<std::size_t>(l)]);
  });
  return missed;
}

}  // namespace

CacheChoice cache_choice(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "cache policy", diagnostics);
  auto choice =
      policy::Registry<policy::CachePolicy>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice;
}

BlockAccesses block_accesses(const model::Activations& activations, double density,
                             std::int32_t block_neurons) {
  scheduler::RunSpec spec;
  spec.layers = activations.layers();
  spec.geometry = model::cut_into_blocks(activations.ffn(), block_neurons, 1, 1);
  spec.density = density;
  const auto selection = std::make_shared<scheduler::Selection>(spec, activations);
  BlockAccesses accesses{active_sets(activations, block_neurons == 1 ? density : 1), {}};
  if (block_neurons > 1) {
    accesses.sets = SetSequence(activations.tokens(), spec.layers, spec.geometry.blocks_per_layer);
    scheduler::BlockScores scores(spec.geometry.blocks_per_layer);
    for (TokenId t = 0; t < activations.tokens(); ++t) {
      for (LayerId l = 0; l < spec.layers; ++l) {
        selection->choose(t, l, activations.importance(t, l), nullptr, scores);
        accesses.sets.at(t, l) = scores.wanted;
      }
    }
  }
  accesses.units = [selection, &activations](TokenId t, LayerId l, std::span<std::uint32_t> out) {
    selection->sum(l, activations.importance(t, l), out);
  };
  return accesses;
}

std::int64_t wanted_from(const SetSequence& sets, TokenId from_token) {
  std::int64_t wanted = 0;
  for_each_step(sets, from_token, sets.tokens(),
                [&](TokenId, LayerId, const BlockSet& set) { wanted += set.count(); });
  return wanted;
}

std::int64_t replay(const CacheChoice& policy, const BlockAccesses& accesses, SlotId slots,
                    const ReplayRules& rules) {
  const auto parts = parts_of(accesses.sets, rules.scope);
  return sum_over_parts(accesses.sets, std::span(&slots, 1), rules,
                        [&](std::size_t i, SlotId part_slots) {
                          return replay_part(policy, accesses, parts[i], part_slots, rules);
                        })
      .front();
}

std::vector<std::int64_t> misses(const CacheChoice& policy, const BlockAccesses& accesses,
                                 std::span<const SlotId> sizes, const ReplayRules& rules) {
  const SetSequence& sets = accesses.sets;
  const auto parts = parts_of(sets, rules.scope);
  if (policy.name == "lru") {
    std::vector<scheduler::StackDistances> distances;
    for (const Part& part : parts) distances.push_back(distances_of(part, rules));
    return sum_over_parts(sets, sizes, rules,
                          [&](std::size_t i, SlotId slots) { return distances[i].misses(slots); });
  }
  if (policy.name == "belady") {
    std::vector<Bound> bounds;
    for (const Part& part : parts) bounds.push_back(bound_of(part, rules));
    return sum_over_parts(sets, sizes, rules, [&](std::size_t i, SlotId slots) {
      return bounds[i].bound.misses(slots, bounds[i].from);
    });
  }
  return sum_over_parts(sets, sizes, rules, [&](std::size_t i, SlotId slots) {
    return replay_part(policy, accesses, parts[i], slots, rules);
  });
}

std::int64_t misses(Replay policy, const SetSequence& sets, std::int64_t capacity,
                    TokenId from_token) {
  LEANSTREAM_CHECK(capacity >= 1 && from_token >= 0, "capacity {}, token {}", capacity, from_token);
  if (policy == Replay::kStaticHottest) return static_hottest(sets, capacity, from_token);
  const char* name = policy == Replay::kLru ? "lru" : policy == Replay::kLfu ? "lfu" : "belady";
  const auto slots = static_cast<SlotId>(std::min(capacity, sets.neurons()));
  return misses(cache_choice(name), {sets, {}}, std::span(&slots, 1), {.from_token = from_token})
      .front();
}

double miss_ratio(Replay policy, const SetSequence& sets, std::int64_t capacity,
                  TokenId from_token) {
  const std::int64_t wanted = wanted_from(sets, from_token);
  if (wanted == 0) return 0;
  return static_cast<double>(misses(policy, sets, capacity, from_token)) /
         static_cast<double>(wanted);
}

TokenId warm_up_tokens(TokenId tokens) {
  return std::min<TokenId>(200, tokens / 2);
}

}  // namespace leanstream::traces
