// leanstream bench caches: how fast caches are replayed from bitsets, as ratios to an LRU made of a
// list and a hash table in the same run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/config/document.h"
#include "engine/scheduler/belady.h"
#include "engine/scheduler/stack_distances.h"
#include "experiments/commands/commands.h"
#include "traces/cache_replay.h"
#include "traces/miss_ratio.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using traces::SetSequence;

constexpr double kSecondsACase = 0.1;  // at least, of each round

struct CacheBenchOptions {
  std::string trace = "traces/samples/genesis-smollm2-135m.safetensors";
  double density = 0.2;
  double share = 0.25;
  int rounds = 5;
  std::vector<std::string> only;
  bool json = false;
};

// The whole sequence `passes` times, one after the other, as one longer sequence; returns the
// misses of all of it.
using Work = std::function<std::int64_t(int passes)>;

struct CacheCase {
  std::string name;
  Work work;
  int passes = 1;
  std::vector<double> rates{};   // accesses/s of each round
  std::vector<double> ratios{};  // to the reference of the same round
};

template <typename Visit>
void for_each_step(const SetSequence& sets, int passes, Visit&& visit) {
  StepId step = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (TokenId t = 0; t < sets.tokens(); ++t) {
      for (LayerId l = 0; l < sets.layers(); ++l) visit(l, sets.at(t, l), step++);
    }
  }
}

std::int64_t list_and_hash(const SetSequence& sets, SlotId slots, int passes) {
  std::list<std::int64_t> order;  // oldest first
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> where;
  where.reserve(static_cast<std::size_t>(slots) + 1);
  std::int64_t missed = 0;
  for_each_step(sets, passes, [&](LayerId l, const BlockSet& wanted, StepId) {
    wanted.for_each([&](BlockId b) {
      const std::int64_t key = std::int64_t{l} * sets.ffn() + b;
      const auto found = where.find(key);
      if (found != where.end()) {
        order.splice(order.end(), order, found->second);
        return;
      }
      ++missed;
      if (static_cast<SlotId>(where.size()) == slots) {
        where.erase(order.front());
        order.pop_front();
      }
      where[key] = order.insert(order.end(), key);
    });
  });
  return missed;
}

std::int64_t by_policy(const std::string& name, const SetSequence& sets, SlotId slots, int passes) {
  const auto policy = traces::cache_choice(name).make({sets.layers(), sets.ffn(), slots, 0});
  traces::CacheReplay cache(*policy, sets.layers(), sets.ffn(), slots);
  std::int64_t missed = 0;
  for_each_step(sets, passes, [&](LayerId l, const BlockSet& wanted, StepId step) {
    missed += cache.use(l, wanted, step);
  });
  return missed;
}

std::int64_t bound(const SetSequence& sets, SlotId slots, int passes) {
  scheduler::BeladyBound belady(sets.layers(), sets.ffn());
  belady.reserve(sets.steps() * passes, traces::wanted_from(sets, 0) * passes);
  for_each_step(sets, passes,
                [&](LayerId l, const BlockSet& wanted, StepId) { belady.add(l, wanted); });
  return belady.misses(slots);
}

std::int64_t stack_distances(const SetSequence& sets, SlotId slots, int passes) {
  scheduler::StackDistances distances(sets.layers(), sets.ffn());
  for_each_step(sets, passes, [&](LayerId l, const BlockSet& wanted, StepId step) {
    distances.add(l, wanted, step);
  });
  return distances.misses(slots);
}

std::vector<CacheCase> cases_of(const SetSequence& sets, SlotId slots) {
  std::vector<CacheCase> cases;
  cases.push_back({"list_and_hash_lru",
                   [&sets, slots](int passes) { return list_and_hash(sets, slots, passes); }});
  for (const char* name : {"lru", "fifo", "clock", "sieve", "lfu", "lfu_in_cache", "lfu_aging",
                           "s3fifo", "arc", "wtinylfu"}) {
    cases.push_back(
        {name, [name, &sets, slots](int passes) { return by_policy(name, sets, slots, passes); }});
  }
  cases.push_back({"belady", [&sets, slots](int passes) { return bound(sets, slots, passes); }});
  cases.push_back({"lru_all_sizes",
                   [&sets, slots](int passes) { return stack_distances(sets, slots, passes); }});
  return cases;
}

double seconds(const CacheCase& c) {
  const auto from = Clock::now();
  c.work(c.passes);
  return std::chrono::duration<double>(Clock::now() - from).count();
}

void measure(std::vector<CacheCase>& cases, double accesses, int rounds) {
  for (CacheCase& c : cases) {
    const double once = std::max(1e-9, seconds(c));
    c.passes = std::max(1, static_cast<int>(std::ceil(kSecondsACase / once)));
  }
  for (int round = 0; round < rounds; ++round) {
    for (CacheCase& c : cases) {
      c.rates.push_back(accesses * c.passes / seconds(c));
      c.ratios.push_back(c.rates.back() / cases.front().rates.back());
    }
  }
}

void execute(const CacheBenchOptions& o) {
  if (!(o.density > 0 && o.density <= 1) || !(o.share > 0 && o.share <= 1)) {
    throw UserError("--density {} and --share {}: shares above 0, at most 1", o.density, o.share);
  }
  const traces::Trace trace(o.trace);
  const auto sets = traces::active_sets(trace, o.density);
  const auto slots =
      static_cast<SlotId>(std::max(1.0, std::round(o.share * static_cast<double>(sets.neurons()))));
  const auto accesses = static_cast<double>(traces::wanted_from(sets, 0));
  auto cases = cases_of(sets, slots);
  std::erase_if(cases, [&](const CacheCase& c) {
    const bool asked = std::find(o.only.begin(), o.only.end(), c.name) != o.only.end();
    return c.name != "list_and_hash_lru" && !o.only.empty() && !asked;
  });
  measure(cases, accesses, o.rounds);
  Json rows = Json::array();
  for (const CacheCase& c : cases) {
    const auto [least, most] = std::minmax_element(c.ratios.begin(), c.ratios.end());
    rows.push_back(
        {{"cache", c.name},
         {"accesses_per_s", median(c.rates)},
         {"ratio", median(c.ratios)},
         {"ratio_least", *least},
         {"ratio_most", *most},
         {"ns_per_step", 1e9 * accesses / static_cast<double>(sets.steps()) / median(c.rates)}});
  }
  if (o.json) {
    fmt::print("{}\n", rows.dump(2));
    return;
  }
  fmt::print(
      "{}, density {}, cache of {} % ({} neurons), set by set, medians of {} rounds\n"
      "cache              M accesses/s    ns/step   ratio (least … most) to a list and a "
      "hash table\n",
      o.trace, o.density, 100 * o.share, slots, o.rounds);
  for (const Json& r : rows) {
    fmt::print("{:18} {:12.1f} {:10.0f} {:7.2f} ({:.2f} … {:.2f})\n", r["cache"].get<std::string>(),
               r["accesses_per_s"].get<double>() / 1e6, r["ns_per_step"].get<double>(),
               r["ratio"].get<double>(), r["ratio_least"].get<double>(),
               r["ratio_most"].get<double>());
  }
}

}  // namespace

void add_bench_caches(CLI::App& bench) {
  const auto o = std::make_shared<CacheBenchOptions>();
  auto* caches = bench.add_subcommand(
      "caches", "replays of caches from bitsets, as ratios to a list and a hash table");
  caches->add_option("TRACE", o->trace, "trace file, repeated as needed")->capture_default_str();
  caches->add_option("--density", o->density, "share of active neurons")->capture_default_str();
  caches->add_option("--share", o->share, "size of the cache ÷ all neurons")->capture_default_str();
  caches->add_option("--rounds", o->rounds, "rounds of all cases; medians count")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  caches->add_option("--only", o->only, "some of the cases, beside the reference")->delimiter(',');
  caches->add_flag("--json", o->json, "JSON to stdout");
  caches->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
