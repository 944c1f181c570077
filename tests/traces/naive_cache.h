// Cache replays written for clarity only: what traces/miss_ratio.h must agree with.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "traces/active_sets.h"
#include "traces/miss_ratio.h"

namespace leanstream::traces {

using Ids = std::set<int>;

inline std::vector<Ids> steps_of(const SetSequence& sets) {
  std::vector<Ids> steps;
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      Ids& ids = steps.emplace_back();
      for (int j = 0; j < sets.ffn(); ++j) {
        if (sets.at(t, l).test(j)) ids.insert(l * sets.ffn() + j);
      }
    }
  }
  return steps;
}

// LRU (by_count = false) and LFU with counts that survive eviction, of which equal ones go in the
// order in which their layers were computed, then lower ids first.
inline std::int64_t naive_misses(const SetSequence& sets, std::size_t capacity,
                                 std::size_t from_step, bool by_count) {
  const auto steps = steps_of(sets);
  std::map<int, int> count, last;
  Ids cached;
  std::int64_t missed = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int id : steps[i]) {
      if (!cached.contains(id) && i >= from_step) ++missed;
      cached.insert(id);
      ++count[id];
      last[id] = static_cast<int>(i);
    }
    while (cached.size() > capacity) {
      const auto worth = [&](int id) {
        const int layers = sets.layers();
        const int age = (id / sets.ffn() - static_cast<int>(i) % layers - 1 + layers) % layers;
        return std::tuple(steps[i].contains(id), by_count ? count[id] : 0,
                          by_count ? age : last[id], id);
      };
      cached.erase(*std::min_element(cached.begin(), cached.end(),
                                     [&](int a, int b) { return worth(a) < worth(b); }));
    }
  }
  return missed;
}

inline std::int64_t naive_static(const SetSequence& sets, std::size_t capacity,
                                 TokenId from_token) {
  const auto steps = steps_of(sets);
  std::map<int, int> count;
  for (int id = 0; id < sets.neurons(); ++id) count[id] = 0;
  const auto layers = static_cast<std::size_t>(sets.layers());
  for (std::size_t i = 0; i < static_cast<std::size_t>(sets.tokens() / 2) * layers; ++i) {
    for (const int id : steps[i]) ++count[id];
  }
  std::set<std::pair<int, int>> order;  // most uses, then lowest id
  for (const auto& [id, uses] : count) order.emplace(-uses, id);
  Ids pinned;
  for (const auto& [uses, id] : order) {
    if (pinned.size() < capacity) pinned.insert(id);
  }
  std::int64_t missed = 0;
  for (std::size_t i = static_cast<std::size_t>(from_token) * layers; i < steps.size(); ++i) {
    for (const int id : steps[i]) missed += pinned.contains(id) ? 0 : 1;
  }
  return missed;
}

// Belady by looking ahead for each block: before from_step everything is kept, since a cache that
// knows what is counted may keep whatever of it helps later.
inline std::int64_t naive_belady(const std::vector<Ids>& steps, std::size_t capacity,
                                 std::size_t from_step) {
  const auto next_use = [&](int id, std::size_t from) {
    for (std::size_t i = from; i < steps.size(); ++i) {
      if (steps[i].contains(id)) return i;
    }
    return std::numeric_limits<std::size_t>::max();
  };
  Ids cached;
  std::int64_t missed = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int id : steps[i]) {
      if (!cached.contains(id) && i >= from_step) ++missed;
      cached.insert(id);
    }
    while (i + 1 >= from_step && cached.size() > capacity) {
      cached.erase(*std::max_element(cached.begin(), cached.end(), [&](int a, int b) {
        return std::pair(next_use(a, i + 1), a) < std::pair(next_use(b, i + 1), b);
      }));
    }
  }
  return missed;
}

// The fewest misses of any sequence of cache contents, by trying all; ids below 12. `warm` lets the
// cache start with any content.
inline std::int64_t exhaustive_misses(const std::vector<Ids>& steps, int capacity,
                                      std::size_t from_step, int ids, bool warm) {
  constexpr std::int64_t kImpossible = 1 << 20;
  const auto contents = std::size_t{1} << ids;
  std::vector<std::int64_t> cost(contents, kImpossible);
  const auto fits = [&](std::size_t c) { return std::popcount(c) <= capacity; };
  for (std::size_t c = 0; c < contents; ++c) {
    if (fits(c) && (warm || c == 0)) cost[c] = 0;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::size_t wanted = 0;
    for (const int id : steps[i]) wanted |= std::size_t{1} << id;
    std::vector<std::int64_t> after(contents, kImpossible);
    for (std::size_t c = 0; c < contents; ++c) {
      if (cost[c] == kImpossible) continue;
      const std::int64_t now = cost[c] + (i >= from_step ? std::popcount(wanted & ~c) : 0);
      const std::size_t at_hand = c | wanted;
      for (std::size_t next = at_hand;; next = (next - 1) & at_hand) {
        if (fits(next)) after[next] = std::min(after[next], now);
        if (next == 0) break;
      }
    }
    cost = after;
  }
  return *std::min_element(cost.begin(), cost.end());
}

}  // namespace leanstream::traces
