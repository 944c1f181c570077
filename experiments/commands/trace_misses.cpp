// leanstream trace misses: what caches of many sizes would have missed on a trace.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/config/document.h"
#include "engine/config/units.h"
#include "experiments/commands/choice.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/trace_accesses.h"
#include "experiments/report/csv.h"
#include "experiments/report/plot.h"

namespace leanstream::commands {
namespace {

using scheduler::Scope;
using traces::Lookup;
using Json = nlohmann::ordered_json;

struct MissesOptions {
  AccessOptions accesses;
  std::string policies = "lru,lfu,s3fifo,belady";
  std::string sizes = "5%,10%,15%,20%,25%,30%,40%,50%,60%,75%,90%";
  Scope scope = Scope::shared;
  Lookup lookup = Lookup::set;
  std::optional<TokenId> warm_up;
  std::string out;
  bool json = false;
};

const Choices<Scope> kScopes{
    {"shared", Scope::shared}, {"even", Scope::even}, {"by_miss_curve", Scope::by_miss_curve}};
const Choices<Lookup> kLookups{{"set", Lookup::set}, {"access", Lookup::access}};

struct Curve {
  traces::CacheChoice policy;
  std::vector<std::int64_t> misses;  // by size
};

struct Curves {
  std::vector<double> shares;  // of all blocks
  std::vector<SlotId> slots;
  std::vector<Curve> curves;
  std::int64_t wanted = 0;
};

// What the parameters of a policy add to its name.
std::string label(const traces::CacheChoice& policy) {
  std::string text = policy.name;
  for (const auto& [key, value] : policy.resolved.items()) {
    const auto& defaults = traces::cache_choice(policy.name).resolved;
    if (key != "policy" && defaults[key] != value) {
      text +=
          fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return text;
}

// A list as a flow of YAML: names, or maps with parameters.
std::vector<traces::CacheChoice> read_policies(const std::string& text,
                                               std::vector<std::string>& problems) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document("[" + text + "]", "--policy", diagnostics);
  std::vector<traces::CacheChoice> policies;
  if (diagnostics.text().empty()) {
    for (const config::Node& node : document.root.items()) {
      policies.push_back(
          policy::Registry<policy::CachePolicy>::instance().choose(node, diagnostics));
    }
    if (policies.empty()) problems.push_back("--policy: at least one policy");
  }
  if (!diagnostics.text().empty()) problems.push_back(diagnostics.text());
  return policies;
}

std::vector<double> read_sizes(const std::string& text, std::vector<std::string>& problems) {
  std::vector<double> shares;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    std::string error;
    const auto share = config::parse_quantity(word, config::Dimension::ratio, error);
    if (!share || *share <= 0 || *share > 1) {
      problems.push_back(fmt::format("--sizes {}: {}", word,
                                     error.empty() ? "shares of all blocks, above 0 % and at most "
                                                     "100 %"
                                                   : error));
      continue;
    }
    shares.push_back(*share);
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

Curves replay(const MissesOptions& o, const traces::Trace& trace, const traces::ReplayRules& rules,
              const std::vector<traces::CacheChoice>& policies, std::vector<double> shares) {
  const auto accesses = traces::block_accesses(trace, o.accesses.density, o.accesses.block_neurons);
  Curves curves{std::move(shares), {}, {}, traces::wanted_from(accesses.sets, rules.from_token)};
  for (const double share : curves.shares) {
    const auto slots = std::lround(share * static_cast<double>(accesses.sets.neurons()));
    curves.slots.push_back(static_cast<SlotId>(std::max(1L, slots)));
  }
  for (const auto& policy : policies) {
    curves.curves.push_back({policy, traces::misses(policy, accesses, curves.slots, rules)});
  }
  return curves;
}

double ratio(const Curves& c, const Curve& curve, std::size_t size) {
  if (c.wanted == 0) return 0;
  return static_cast<double>(curve.misses[size]) / static_cast<double>(c.wanted);
}

report::CsvTable table_of(const Curves& c, const MissesOptions& o) {
  report::CsvTable table;
  table.header = {"policy", "scope",  "lookup", "cache_share",
                  "slots",  "wanted", "misses", "miss_ratio"};
  for (const Curve& curve : c.curves) {
    for (std::size_t i = 0; i < c.slots.size(); ++i) {
      table.rows.push_back(
          {label(curve.policy), name_of(kScopes, o.scope), name_of(kLookups, o.lookup),
           report::csv_number(c.shares[i]), std::to_string(c.slots[i]), std::to_string(c.wanted),
           std::to_string(curve.misses[i]), report::csv_number(ratio(c, curve, i))});
    }
  }
  return table;
}

Json json_of(const Curves& c, const MissesOptions& o, const traces::Trace& trace, TokenId warm_up) {
  Json policies = Json::array();
  for (const Curve& curve : c.curves) {
    Json ratios = Json::array();
    for (std::size_t i = 0; i < c.slots.size(); ++i) ratios.push_back(ratio(c, curve, i));
    policies.push_back(
        {{"cache", curve.policy.resolved}, {"misses", curve.misses}, {"miss_ratio", ratios}});
  }
  return {{"trace", trace.path()},
          {"kind", traces::to_string(trace.info().kind)},
          {"density", o.accesses.density},
          {"block_neurons", o.accesses.block_neurons},
          {"scope", name_of(kScopes, o.scope)},
          {"lookup", name_of(kLookups, o.lookup)},
          {"warm_up_tokens", warm_up},
          {"wanted", c.wanted},
          {"cache_share", c.shares},
          {"slots", c.slots},
          {"policies", std::move(policies)}};
}

std::string drawing(const Curves& c, const MissesOptions& o, const traces::Trace& trace) {
  report::LinePlot plot;
  plot.x_label = "cache, % of all blocks";
  plot.y_label = "miss ratio";
  plot.y_most = 1;
  plot.corner =
      fmt::format("{}, {} trace, density {}, scope {}, look-up by {}", trace.info().model.name,
                  traces::to_string(trace.info().kind), o.accesses.density,
                  name_of(kScopes, o.scope), name_of(kLookups, o.lookup));
  for (std::size_t p = 0; p < c.curves.size(); ++p) {
    const bool bound = c.curves[p].policy.name == "belady";
    report::Series series{label(c.curves[p].policy),
                          bound ? "#1c2128" : report::series_colour(p),
                          report::series_mark(p),
                          bound ? 2 : 1,
                          2,
                          {}};
    for (std::size_t i = 0; i < c.slots.size(); ++i) {
      series.points.emplace_back(100 * c.shares[i], ratio(c, c.curves[p], i));
    }
    plot.series.push_back(std::move(series));
  }
  return report::draw(plot, "misses",
                      fmt::format("Miss ratio against cache size, one line for each of {} "
                                  "policies; misses.csv holds the figures.",
                                  c.curves.size()));
}

void print(const Curves& c, const MissesOptions& o, const traces::Trace& trace, TokenId warm_up) {
  fmt::print(
      "{}, {} trace of {}, density {}, blocks of {}\nmiss ratio, scope {}, look-up by {}, "
      "after {} tokens ({} blocks wanted)\n\n",
      trace.path(), traces::to_string(trace.info().kind), trace.info().model.name,
      o.accesses.density, o.accesses.block_neurons, name_of(kScopes, o.scope),
      name_of(kLookups, o.lookup), warm_up, c.wanted);
  std::size_t width = 6;
  for (const Curve& curve : c.curves) width = std::max(width, label(curve.policy).size());
  fmt::print("{:{}}", "cache", width);
  for (const double share : c.shares) fmt::print(" {:>5}%", fmt::format("{:.4g}", 100 * share));
  for (const Curve& curve : c.curves) {
    fmt::print("\n{:{}}", label(curve.policy), width);
    for (std::size_t i = 0; i < c.slots.size(); ++i) fmt::print(" {:6.3f}", ratio(c, curve, i));
  }
  fmt::print("\n");
}

void execute(const MissesOptions& o) {
  const traces::Trace trace(o.accesses.file);
  std::vector<std::string> problems;
  check_access_options(o.accesses, trace, problems);
  const auto policies = read_policies(o.policies, problems);
  const auto shares = read_sizes(o.sizes, problems);
  const TokenId warm_up = o.warm_up.value_or(traces::warm_up_tokens(trace.tokens()));
  if (warm_up < 0 || warm_up >= trace.tokens()) {
    problems.push_back(fmt::format("--warm-up {}: 0 … {}, the trace's tokens less one", warm_up,
                                   trace.tokens() - 1));
  }
  refuse(problems);
  if (!o.out.empty()) check_writable((std::filesystem::path(o.out) / "misses.csv").string());
  const Curves curves = replay(o, trace, {o.scope, o.lookup, warm_up}, policies, shares);
  if (!o.out.empty()) {
    const std::filesystem::path folder(o.out);
    table_of(curves, o).write((folder / "misses.csv").string());
    write_file((folder / "misses.svg").string(), drawing(curves, o, trace));
  }
  if (o.json) {
    fmt::print(
        "{}\n",
        json_of(curves, o, trace, warm_up).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print(curves, o, trace, warm_up);
  }
}

}  // namespace

void add_trace_misses(CLI::App& trace) {
  auto* misses = trace.add_subcommand(
      "misses", "miss ratios of caches at many sizes, beside the bound that none can beat");
  const auto o = std::make_shared<MissesOptions>();
  add_access_options(*misses, o->accesses);
  misses
      ->add_option("--policy", o->policies,
                   "caches, as in a system file: lru,{policy: window, tokens: 5}; belady is the "
                   "bound. `leanstream list policies` shows all")
      ->capture_default_str();
  misses->add_option("--sizes", o->sizes, "shares of all blocks")->capture_default_str();
  add_choice(*misses, "--scope", o->scope, kScopes,
             "one cache for all layers, or one a layer: of equal size, or as the "
             "least-recently-used misses of the warm-up suggest");
  add_choice(*misses, "--lookup", o->lookup, kLookups,
             "a token's set of a layer is compared with the cache at once, or block by block");
  misses->add_option("--warm-up", o->warm_up,
                     "tokens before misses count, the prompt of policies that learn from one; by "
                     "default 200, at most half of the trace");
  misses->add_option("--out", o->out, "folder for misses.csv and misses.svg");
  misses->add_flag("--json", o->json, "JSON to stdout");
  misses->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
