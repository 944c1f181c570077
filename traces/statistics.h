// What the activations of a trace look like at one density: who fires, how sets persist, what
// caches make of them. The definitions are those of `leanstream trace info`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/activations.h"
#include "traces/active_sets.h"
#include "traces/trace.h"

namespace leanstream::traces {

inline constexpr std::array<double, 4> kHottestShares = {0.10, 0.20, 0.30, 0.50};
inline constexpr std::array<double, 4> kCacheShares = {0.10, 0.25, 0.50, 0.75};

// Miss ratios of one cache for all layers that holds `cache_share` of all neurons, after the
// warm-up (miss_ratio.h).
struct CacheMisses {
  double cache_share = 0;
  double static_hottest = 0;
  double lru = 0;
  double lfu = 0;
  double belady = 0;
};

struct Statistics {
  double density = 0;
  std::int32_t active_neurons = 0;  // of each layer and token

  // Mean over tokens and layers of Σs over the active set ÷ Σs over all neurons; layers without
  // any importance are left out.
  double importance_share = 0;

  // |A(t) ∩ A(t−1)| ÷ |A|, mean over tokens ≥ 1 (0 for a single token): by layer and over all.
  std::vector<double> overlap_by_layer;
  double overlap = 0;

  // Share of all firings in the hottest 10, 20, 30, 50 % of the neurons of all layers together.
  std::array<double, kHottestShares.size()> hottest_share{};
  double never_active_share = 0;  // of all neurons

  // Neurons with the code of the last one taken, mean over tokens and layers, and the share of the
  // active set that the hash had to choose among them.
  double tied_at_threshold = 0;
  double chosen_by_hash_share = 0;

  TokenId warm_up_tokens = 0;
  std::array<CacheMisses, kCacheShares.size()> cache{};
};

// 0 < density ≤ 1 (else UserError).
Statistics statistics(const model::Activations& activations, double density);

// The same without `cache`, whose replays take most of the time.
Statistics set_statistics(const model::Activations& activations, double density);

// exp(mean nll) over the tokens whose nll is known, and over those with at least `context` tokens
// before them; nothing when none is known.
std::optional<double> perplexity(const Trace& trace, TokenId context = 0);

}  // namespace leanstream::traces
