// leanstream train placement: an order of neurons on flash, learned from traces.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/learn/placement.h"
#include "engine/policy/place/fit.h"
#include "engine/policy/place/placement_file.h"
#include "experiments/commands/choice.h"
#include "experiments/commands/commands.h"
#include "experiments/run/progress.h"
#include "experiments/run/version.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;
using learn::PlacementPolicy;

struct TrainPlacementOptions {
  std::vector<std::string> traces;
  PlacementPolicy policy = PlacementPolicy::embedding;
  learn::PlacementRule rule;
  double density = 0.2;
  std::int64_t tokens = 0;  // 0: all
  int threads = 1;
  std::string out;
  bool json = false;
};

const Choices<PlacementPolicy> kPolicies{{"embedding", PlacementPolicy::embedding},
                                         {"frequency", PlacementPolicy::frequency},
                                         {"pairwise", PlacementPolicy::pairwise}};

// The first tokens of the traces, one trace after another.
class Text {
 public:
  Text(const std::vector<std::string>& paths, std::int64_t tokens, double density)
      : density_(density) {
    std::vector<std::string> problems;
    for (const auto& path : paths) {
      const auto& trace = traces_.emplace_back(std::make_unique<traces::Trace>(path));
      const auto& model = trace->info().model;
      const auto& first = traces_.front()->info().model;
      if (model.layers != first.layers || model.ffn != first.ffn ||
          (!model.hash.empty() && !first.hash.empty() && model.hash != first.hash)) {
        problems.push_back(
            fmt::format("{} is of {} ({} layers of {} neurons, weights {}), not of "
                        "{} ({}, {}, {}) like {}",
                        path, model.name, model.layers, model.ffn, model.hash, first.name,
                        first.layers, first.ffn, first.hash, paths[0]));
      }
      there_ += trace->tokens();
    }
    if (!problems.empty()) throw UserError("{}", fmt::join(problems, "\n"));
    const std::int64_t most = std::min<std::int64_t>(there_, policy::kMostCountedTokens);
    tokens_ = tokens == 0 ? most : tokens;
    if (tokens_ > most) {
      throw UserError("--tokens {}: the traces have {}, and at most {} are counted", tokens_,
                      there_, policy::kMostCountedTokens);
    }
  }

  const traces::TraceInfo& info() const { return traces_.front()->info(); }
  TokenId tokens() const { return static_cast<TokenId>(tokens_); }

  std::vector<BlockSet> active(LayerId layer) const {
    std::vector<BlockSet> sets;
    sets.reserve(static_cast<std::size_t>(tokens_));
    for (const auto& trace : traces_) {
      const auto left = tokens() - static_cast<TokenId>(sets.size());
      policy::append_active(*trace, layer, 0, std::min(left, trace->tokens()), density_, sets);
    }
    return sets;
  }

  // Names and hashes of those that are used.
  std::string names() const {
    std::vector<std::string> all;
    std::int64_t before = 0;
    for (const auto& trace : traces_) {
      if (before >= tokens_) break;
      all.push_back(fmt::format("{} {}", std::filesystem::path(trace->path()).filename().string(),
                                hash_file(trace->path())));
      before += trace->tokens();
    }
    return fmt::format("{}", fmt::join(all, ", "));
  }

 private:
  std::vector<std::unique_ptr<traces::Trace>> traces_;
  double density_;
  std::int64_t there_ = 0;
  std::int64_t tokens_ = 0;
};

// Layers are learned one by one, or so many at once; the orders are the same.
std::vector<std::vector<std::int32_t>> learn_all(const TrainPlacementOptions& o, const Text& text) {
  const LayerId layers = text.info().model.layers;
  std::vector<std::vector<std::int32_t>> orders(static_cast<std::size_t>(layers));
  run::Progress progress(orders.size(), "layers");
  std::atomic<LayerId> next = 0, done = 0;
  const auto work = [&](bool shows) {
    for (LayerId l = next++; l < layers; l = next++) {
      orders[static_cast<std::size_t>(l)] =
          learn::learn_order(o.rule, l, text.info().model.ffn, text.active(l));
      ++done;
      if (shows) progress.show(static_cast<std::size_t>(done.load()), o.out);
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < std::min(o.threads, layers); ++t) others.emplace_back(work, false);
    work(true);
  }
  return orders;
}

void train(TrainPlacementOptions o) {
  const auto begin = std::chrono::steady_clock::now();
  if (!(o.density > 0 && o.density < 1)) {
    throw UserError("--density {}: it must be above 0 and below 1", o.density);
  }
  o.rule.policy = o.policy;
  const Text text(o.traces, o.tokens, o.density);
  const auto& model = text.info().model;
  if (o.rule.block_neurons > model.ffn) {
    throw UserError("--block-neurons {}: a layer has {} neurons", o.rule.block_neurons, model.ffn);
  }
  const bool clusters = o.policy == PlacementPolicy::embedding;
  policy::LearnedPlacement placement;
  placement.model = model.name;
  placement.model_hash = model.hash;
  placement.layers = model.layers;
  placement.ffn = model.ffn;
  placement.policy = name_of(kPolicies, o.policy);
  placement.parameters = learn::parameters_of(o.rule);
  placement.density = o.density;
  placement.block_neurons = clusters ? o.rule.block_neurons : 0;
  placement.tokens = text.tokens();
  placement.seed = clusters ? o.rule.embedding.seed : 0;
  placement.traces = text.names();
  placement.tool = fmt::format("leanstream {} ({})", run::version().version, run::version().commit);
  placement.command = command_line();
  check_writable(o.out);
  placement.orders = learn_all(o, text);
  policy::write_placement(o.out, placement);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (o.json) {
    fmt::print("{}\n", Json{{"file", o.out},
                            {"hash", hash_file(o.out)},
                            {"model", placement.model},
                            {"layers", placement.layers},
                            {"ffn", placement.ffn},
                            {"policy", placement.policy},
                            {"block_neurons", placement.block_neurons},
                            {"density", placement.density},
                            {"tokens", placement.tokens},
                            {"seconds", took.count()}}
                           .dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}: {} of {}, {} layers of {} neurons, from {} tokens, in {:.1f} s\n", o.out,
             placement.policy, placement.model, placement.layers, placement.ffn, placement.tokens,
             took.count());
}

}  // namespace

void add_train_placement(CLI::App& train_command) {
  auto o = std::make_shared<TrainPlacementOptions>();
  auto* command = train_command.add_subcommand(
      "placement", "an order of each layer's neurons on flash, for placement: {policy: file}");
  command->add_option("--trace", o->traces, "what it is learned from; several are read in turn")
      ->required();
  add_choice(*command, "--policy", o->policy, kPolicies, "how it is learned");
  command->add_option("--density", o->density, "share of neurons that count as used")
      ->capture_default_str();
  command->add_option("--tokens", o->tokens, "only the first N tokens of the traces together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command
      ->add_option("--block-neurons", o->rule.block_neurons,
                   "neurons of a block, which the clusters of embedding have (k)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  auto& embedding = o->rule.embedding;
  command->add_option("--dimensions", embedding.dimensions, "of embedding")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--iterations", embedding.iterations, "of embedding")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--seed", embedding.seed, "of embedding")->capture_default_str();
  command->add_option("--threads", o->threads, "layers that are learned at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--out", o->out, "the file")->required();
  command->add_flag("--json", o->json, "JSON to stdout");
  command->callback([o] { train(*o); });
}

}  // namespace leanstream::commands
