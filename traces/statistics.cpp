#include "traces/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "engine/model/density.h"
#include "traces/miss_ratio.h"

namespace leanstream::traces {
namespace {

double ratio(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

// What one pass over the codes gives.
struct Selection {
  SetSequence sets;
  double importance_share = 0;
  double tied = 0;
  double chosen_by_hash = 0;  // of a set
};

Selection select(const model::Activations& activations, double density) {
  Selection out{.sets = SetSequence(activations.tokens(), activations.layers(), activations.ffn())};
  const std::int32_t count = model::kept_count(density, activations.ffn());
  std::int64_t with_importance = 0;
  TopChoice top;
  for (TokenId t = 0; t < activations.tokens(); ++t) {
    for (LayerId l = 0; l < activations.layers(); ++l) {
      const auto codes = activations.importance(t, l);
      const auto levels = activations.levels(l);
      BlockSet& set = out.sets.at(t, l);
      const Cut cut = top.choose(codes, t, count, set);
      out.tied += cut.tied;
      if (cut.chosen < cut.tied) out.chosen_by_hash += cut.chosen;
      double all = 0, active = 0;
      for (const std::uint8_t code : codes) all += levels[code];
      set.for_each([&](BlockId b) { active += levels[codes[static_cast<std::size_t>(b)]]; });
      if (all == 0) continue;
      out.importance_share += active / all;
      ++with_importance;
    }
  }
  const auto steps = static_cast<double>(out.sets.steps());
  out.importance_share = ratio(out.importance_share, static_cast<double>(with_importance));
  out.tied /= steps;
  out.chosen_by_hash /= steps * count;
  return out;
}

void measure_overlap(const SetSequence& sets, Statistics& out) {
  const double pairs = (sets.tokens() - 1.0) * out.active_neurons;
  for (LayerId l = 0; l < sets.layers(); ++l) {
    std::int64_t common = 0;
    for (TokenId t = 1; t < sets.tokens(); ++t) {
      common += sets.at(t, l).count_common(sets.at(t - 1, l));
    }
    out.overlap_by_layer.push_back(ratio(static_cast<double>(common), pairs));
  }
  out.overlap = std::accumulate(out.overlap_by_layer.begin(), out.overlap_by_layer.end(), 0.0) /
                sets.layers();
}

void measure_heat(const SetSequence& sets, Statistics& out) {
  std::vector<std::int64_t> uses(static_cast<std::size_t>(sets.neurons()));
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      sets.at(t, l).for_each(
          [&](BlockId b) { ++uses[static_cast<std::size_t>(l * sets.ffn() + b)]; });
    }
  }
  std::sort(uses.begin(), uses.end(), std::greater<>());
  const auto neurons = static_cast<double>(uses.size());
  out.never_active_share = static_cast<double>(std::count(uses.begin(), uses.end(), 0)) / neurons;
  const auto all = static_cast<double>(std::accumulate(uses.begin(), uses.end(), std::int64_t{0}));
  for (std::size_t i = 0; i < kHottestShares.size(); ++i) {
    const auto end = uses.begin() + std::llround(kHottestShares[i] * neurons);
    out.hottest_share[i] =
        ratio(static_cast<double>(std::accumulate(uses.begin(), end, std::int64_t{0})), all);
  }
}

CacheMisses replay(const SetSequence& sets, double cache_share, TokenId warm_up) {
  const std::int64_t capacity =
      std::max<std::int64_t>(std::llround(cache_share * static_cast<double>(sets.neurons())), 1);
  const auto of = [&](Replay policy) { return miss_ratio(policy, sets, capacity, warm_up); };
  return {.cache_share = cache_share,
          .static_hottest = of(Replay::kStaticHottest),
          .lru = of(Replay::kLru),
          .lfu = of(Replay::kLfu),
          .belady = of(Replay::kBelady)};
}

// All but the cache replays, and the sets.
std::pair<Statistics, SetSequence> measure_sets(const model::Activations& activations,
                                                double density) {
  if (!(density > 0 && density <= 1)) {
    throw UserError("density {}: it is the share of neurons that count as active, 0 < ρ ≤ 1",
                    density);
  }
  Statistics out;
  out.density = density;
  out.active_neurons = model::kept_count(density, activations.ffn());
  out.warm_up_tokens = warm_up_tokens(activations.tokens());
  Selection selection = select(activations, density);
  out.importance_share = selection.importance_share;
  out.tied_at_threshold = selection.tied;
  out.chosen_by_hash_share = selection.chosen_by_hash;
  measure_overlap(selection.sets, out);
  measure_heat(selection.sets, out);
  return {std::move(out), std::move(selection.sets)};
}

}  // namespace

Statistics statistics(const model::Activations& activations, double density) {
  auto [out, sets] = measure_sets(activations, density);
  for (std::size_t i = 0; i < kCacheShares.size(); ++i) {
    out.cache[i] = replay(sets, kCacheShares[i], out.warm_up_tokens);
  }
  return out;
}

Statistics set_statistics(const model::Activations& activations, double density) {
  return measure_sets(activations, density).first;
}

std::optional<double> perplexity(const Trace& trace, TokenId context) {
  double sum = 0;
  std::int64_t known = 0;
  const auto nll = trace.nll();
  for (std::size_t i = static_cast<std::size_t>(std::max(context, 1)); i < nll.size(); ++i) {
    if (std::isnan(nll[i])) continue;
    sum += nll[i];
    ++known;
  }
  if (known == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(known));
}

}  // namespace leanstream::traces
