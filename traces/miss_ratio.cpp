#include "traces/miss_ratio.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/base/check.h"
#include "engine/scheduler/belady.h"
#include "traces/eviction_lists.h"

namespace leanstream::traces {
namespace {

// Calls visit(token, layer, set) in time order.
template <typename Visit>
void for_each_step(const SetSequence& sets, TokenId from, TokenId to, Visit&& visit) {
  for (TokenId t = from; t < to; ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) visit(t, l, sets.at(t, l));
  }
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

// LRU is the case in which all neurons are in the same list.
std::int64_t by_lists(const SetSequence& sets, std::int64_t capacity, TokenId from_token,
                      bool by_count) {
  EvictionLists cache(sets.neurons(), by_count ? std::int64_t{sets.tokens()} + 1 : 1);
  std::vector<std::int32_t> uses(static_cast<std::size_t>(sets.neurons()));
  std::int64_t missed = 0;
  std::int32_t step = 0;
  for_each_step(sets, 0, sets.tokens(), [&](TokenId t, LayerId l, const BlockSet& wanted) {
    std::int64_t missing = 0;
    wanted.for_each([&](BlockId b) {
      const std::int32_t id = l * sets.ffn() + b;
      const std::int32_t count = ++uses[static_cast<std::size_t>(id)];
      missing += cache.contains(id) ? 0 : 1;
      cache.use(id, by_count ? count : 0, step);
    });
    if (t >= from_token) missed += missing;
    cache.evict(std::max<std::int64_t>(cache.size() - capacity, 0), step);
    ++step;
  });
  return missed;
}

std::int64_t wanted_from(const SetSequence& sets, TokenId from_token) {
  std::int64_t wanted = 0;
  for_each_step(sets, from_token, sets.tokens(),
                [&](TokenId, LayerId, const BlockSet& set) { wanted += set.count(); });
  return wanted;
}

std::int64_t belady(const SetSequence& sets, std::int64_t capacity, TokenId from_token) {
  scheduler::BeladyBound bound(sets.layers(), sets.ffn());
  bound.reserve(sets.steps(), wanted_from(sets, 0));
  for_each_step(sets, 0, sets.tokens(),
                [&](TokenId, LayerId l, const BlockSet& wanted) { bound.add(l, wanted); });
  return bound.misses(capacity, std::int64_t{from_token} * sets.layers());
}

}  // namespace

std::int64_t misses(Replay policy, const SetSequence& sets, std::int64_t capacity,
                    TokenId from_token) {
  LEANSTREAM_CHECK(capacity >= 1 && from_token >= 0, "capacity {}, token {}", capacity, from_token);
  switch (policy) {
    case Replay::kStaticHottest:
      return static_hottest(sets, capacity, from_token);
    case Replay::kLru:
      return by_lists(sets, capacity, from_token, false);
    case Replay::kLfu:
      return by_lists(sets, capacity, from_token, true);
    case Replay::kBelady:
      return belady(sets, capacity, from_token);
  }
  LEANSTREAM_CHECK(false, "replay {}", static_cast<int>(policy));
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
