#include "tests/scheduler/scenario.h"

#include <map>

#include "engine/config/document.h"
#include "engine/config/parameters.h"
#include "experiments/run/system_file.h"

namespace leanstream::scheduler {
namespace {

using config::Diagnostics;
using config::Node;
using config::ParameterInfo;
using Codes = std::vector<std::uint8_t>;

struct Prediction {
  TokenId token = 0;
  LayerId layer = 0;
  std::int32_t feature = kFeatureFinal;
  Codes importance;
};

struct ReadError {
  TicketId ticket = 0;
  std::vector<BlockId> blocks;
};

// What the file says, before it is a run.
struct Raw {
  std::string description;
  Node system;
  Node system_changes;
  RunSpec rules = SmallRun();
  std::int32_t block_neurons = 1;
  Costs costs;
  std::vector<std::vector<Codes>> importance;  // [token][layer]
  std::vector<Prediction> predictions;
  std::vector<ReadError> read_errors;
  std::vector<std::int32_t> omega_io, omega_gpu;  // by decode step
  TicketId failed_ticket = 0;
  std::vector<std::string> commands;
  std::vector<Figure> tally;
  std::string refused;
  std::string failure;
};

const std::map<std::string, std::int64_t Tally::*>& figures() {
  static const std::map<std::string, std::int64_t Tally::*> all{
      {"predictions", &Tally::predictions},
      {"requests", &Tally::requests},
      {"blocks_read", &Tally::blocks_read},
      {"blocks_across", &Tally::blocks_across},
      {"blocks_redundant", &Tally::blocks_redundant},
      {"blocks_cancelled", &Tally::blocks_cancelled},
      {"read_errors", &Tally::read_errors},
      {"blocks_wanted", &Tally::blocks_wanted},
      {"demand_misses", &Tally::demand_misses},
      {"final_misses", &Tally::final_misses},
      {"in_flight", &Tally::in_flight}};
  return all;
}

// A predictor that says what the file lists, and otherwise the truth.
class Listed final : public policy::Predictor {
 public:
  Listed(std::shared_ptr<SmallActivations> truth, std::vector<Prediction> predictions)
      : truth_(std::move(truth)), predictions_(std::move(predictions)) {}

  void predict(TokenId token, LayerId layer, std::int32_t feature,
               std::span<std::uint8_t> codes) const override {
    const auto truth = truth_->importance(token, layer);
    std::copy(truth.begin(), truth.end(), codes.begin());
    for (const Prediction& p : predictions_) {
      if (p.token != token || p.layer != layer || p.feature != feature) continue;
      std::copy(p.importance.begin(), p.importance.end(), codes.begin());
    }
  }

 private:
  std::shared_ptr<SmallActivations> truth_;
  std::vector<Prediction> predictions_;
};

template <typename T>
config::Parameter<T> node(const std::string& name, Node T::*member, const std::string& help) {
  return config::custom<T>(
      name, member, "a map",
      [](const Node& n, const ParameterInfo&, Diagnostics&) { return std::optional(n); },
      [](const Node&) { return ""; }, help);
}

// A list whose items `read` turns into values.
template <typename T, typename V, typename Read>
config::Parameter<T> items(const std::string& name, std::vector<V> T::*member, Read read,
                           const std::string& help) {
  return config::custom<T>(
      name, member, "a list",
      [read](const Node& n, const ParameterInfo& info,
             Diagnostics& d) -> std::optional<std::vector<V>> {
        if (!n.is_sequence()) {
          d.error(n.position(), "'{}' must be a list, not {}", info.name, n.describe());
          return std::nullopt;
        }
        std::vector<V> values;
        for (const Node& item : n.items()) values.push_back(read(item, d));
        return values;
      },
      [](const std::vector<V>&) { return ""; }, help);
}

// Reads one list of codes under the parameter rules of lists.
Codes read_codes(const Node& node, Diagnostics& d) {
  struct One {
    Codes codes;
  };
  static const config::Table<One> table{config::list("codes", &One::codes, "importance codes")};
  return table.read(Node::map(node.position()).with("codes", node, d), d).codes;
}

std::vector<Codes> read_layers(const Node& node, Diagnostics& d) {
  std::vector<Codes> layers;
  for (const Node& layer : node.items()) layers.push_back(read_codes(layer, d));
  return layers;
}

// A map of figures of all decoded tokens.
std::vector<Figure> read_tally(const Node& node, Diagnostics& d) {
  std::vector<Figure> tally;
  for (const auto& entry : node.entries()) {
    const auto figure = figures().find(entry.key);
    if (figure == figures().end()) {
      d.error(entry.key_position, "unknown figure {}", config::quote(entry.key));
      continue;
    }
    ParameterInfo info;
    info.name = entry.key;
    const auto value = config::read_integer<std::int64_t>(entry.value, info, d);
    tally.push_back({entry.key, figure->second, value.value_or(0)});
  }
  return tally;
}

const config::Table<RunSpec>& rules_table() {
  using S = RunSpec;
  static const config::Table<S> table{
      config::integer("prompt_tokens", &S::prompt_tokens, "tokens of prefill"),
      config::integer("slots", &S::slots, "blocks that fit"),
      config::ratio("density", &S::density, "computed share"),
      config::choice("select", &S::select,
                     {{"blocks", Select::blocks}, {"neurons", Select::neurons}}, "what is chosen"),
      config::integer("queue_depth", &S::queue_depth, "requests of a lane"),
      config::integer("read_retries", &S::read_retries, "of a block"),
      config::integer("prefill_merge_blocks", &S::prefill_merge_blocks, "blocks of a request")};
  return table;
}

const config::Table<Raw>& table() {
  static const config::Table<Costs> costs{
      config::integer("read", &Costs::read, "ns of a read"),
      config::integer("read_block", &Costs::read_block, "ns more of each block"),
      config::integer("attention", &Costs::attention, "ns"),
      config::integer("block", &Costs::block, "ns of a block's MLP"),
      config::integer("head", &Costs::head, "ns"),
      config::integer("prediction", &Costs::prediction, "ns")};
  static const config::Table<Prediction> prediction{
      config::integer("token", &Prediction::token, "").required(),
      config::integer("layer", &Prediction::layer, "").required(),
      config::integer("feature", &Prediction::feature, "").required(),
      config::list("importance", &Prediction::importance, "codes").required()};
  static const config::Table<ReadError> read_error{
      config::integer("ticket", &ReadError::ticket, "").required(),
      config::list("blocks", &ReadError::blocks, "not read").required()};
  static const config::Table<Raw> raw{
      config::text("description", &Raw::description, "what it shows").required(),
      node("system", &Raw::system, "a system's name, or its policies").required(),
      node("system_changes", &Raw::system_changes, "laid over it"),
      config::section("run", &Raw::rules, rules_table(), "the run"),
      config::integer("block_neurons", &Raw::block_neurons, "neurons of a block"),
      config::section("costs", &Raw::costs, costs, "what things take"),
      items("importance", &Raw::importance, read_layers, "codes by token and layer").required(),
      items(
          "predictions", &Raw::predictions,
          [](const Node& n, Diagnostics& d) { return prediction.read(n, d); },
          "that are not the truth"),
      items(
          "read_errors", &Raw::read_errors,
          [](const Node& n, Diagnostics& d) { return read_error.read(n, d); },
          "reads that end in an error"),
      config::list("sequence_omega_io", &Raw::omega_io, "by decode step, for clairvoyant_plan"),
      config::list("sequence_omega_gpu", &Raw::omega_gpu, "by decode step, for clairvoyant_plan"),
      config::integer("failed_ticket", &Raw::failed_ticket, "a command that its device gives up"),
      config::list("commands", &Raw::commands, "all of them"),
      config::custom<Raw>(
          "tally", &Raw::tally, "a map",
          [](const Node& n, const ParameterInfo&, Diagnostics& d) {
            return std::optional(read_tally(n, d));
          },
          [](const std::vector<Figure>&) { return ""; }, "figures of all decoded tokens"),
      config::text("refused", &Raw::refused, "words of the message"),
      config::text("failure", &Raw::failure, "words of what ended the run")};
  return raw;
}

run::SystemSpec read_system(const Raw& raw, Diagnostics& d) {
  config::Document document;
  if (raw.system.is_map()) {
    const auto word = [&](const char* text) { return Node::scalar(raw.system.position(), text); };
    document.path = "scenario.yaml";
    document.root =
        raw.system.with("kind", word("system"), d).with("description", word("a case"), d);
  } else {
    document = config::load_document(
        fmt::format("{}/experiments/systems/{}.yaml", LEANSTREAM_SOURCE_DIR, raw.system.text()), d);
  }
  return run::read_system(document, raw.system_changes, d);
}

void check_shape(const Raw& raw, const config::Position& at, Diagnostics& d) {
  if (raw.importance.empty() || raw.importance[0].empty()) return d.error(at, "no importance");
  for (const auto& layers : raw.importance) {
    bool same = layers.size() == raw.importance[0].size();
    for (const auto& codes : layers) same = same && codes.size() == raw.importance[0][0].size();
    if (!same) d.error(at, "importance: tokens and layers of different sizes");
  }
  if (raw.omega_io.size() != raw.omega_gpu.size()) d.error(at, "two sequences of different sizes");
  for (const Prediction& p : raw.predictions) {
    if (p.importance.size() != raw.importance[0][0].size()) d.error(at, "a prediction's size");
  }
}

SmallRun run_of(const Raw& raw, const run::SystemSpec& system) {
  SmallRun run;
  static_cast<RunSpec&>(run) = raw.rules;
  system.apply(run);
  if (system.density) run.density = *system.density;
  run.predictor = system.predictor.resolved.dump();
  run.cache = system.cache.resolved.dump();
  run.controller = system.controller.resolved.dump();
  run.loader = system.loader.resolved.dump();
  run.tokens = static_cast<TokenId>(raw.importance.size());
  run.layers = static_cast<LayerId>(raw.importance[0].size());
  run.ffn = static_cast<std::int32_t>(raw.importance[0][0].size());
  run.block_neurons = raw.block_neurons;
  for (std::size_t i = 0; i < raw.omega_io.size(); ++i) {
    run.sequence.push_back({raw.omega_io[i], raw.omega_gpu[i]});
  }
  run.costs = raw.costs;
  run.fail_ticket = raw.failed_ticket;
  run.unreadable = [errors = raw.read_errors](TicketId ticket, std::span<const BlockId>) {
    for (const ReadError& error : errors) {
      if (error.ticket == ticket) return error.blocks;
    }
    return std::vector<BlockId>();
  };
  run.activations = std::make_shared<SmallActivations>(run.tokens, run.layers, run.ffn);
  for (TokenId t = 0; t < run.tokens; ++t) {
    for (LayerId l = 0; l < run.layers; ++l) {
      run.activations->set(
          t, l, raw.importance[static_cast<std::size_t>(t)][static_cast<std::size_t>(l)]);
    }
  }
  if (system.predictor.name != "all") {
    run.predictions = std::make_shared<Listed>(run.activations, raw.predictions);
  }
  return run;
}

}  // namespace

Scenario read_scenario(const std::string& path) {
  Diagnostics diagnostics;
  const auto document = config::load_document(path, diagnostics);
  const Raw raw = table().read(document.root, diagnostics);
  diagnostics.throw_if_any();
  check_shape(raw, document.root.position(), diagnostics);
  const auto system = read_system(raw, diagnostics);
  diagnostics.throw_if_any();
  return {raw.description, run_of(raw, system), raw.commands, raw.tally, raw.refused, raw.failure};
}

std::string difference(const std::vector<std::string>& expected, const SmallRun& got) {
  if (expected == got.transcript) return "";
  std::size_t width = 8;
  for (const auto& line : expected) width = std::max(width, line.size());
  std::string text = fmt::format("  {:<{}} | {:>7} got\n", "expected", width, "ns");
  for (std::size_t i = 0; i < std::max(expected.size(), got.transcript.size()); ++i) {
    const std::string left = i < expected.size() ? expected[i] : "";
    const bool there = i < got.transcript.size();
    const std::string right =
        there ? fmt::format("{:>7} {}", got.submitted_ns[i], got.transcript[i]) : "";
    const bool same = there && left == got.transcript[i];
    text += fmt::format("{} {:<{}} | {}\n", same ? ' ' : '!', left, width, right);
  }
  return text;
}

}  // namespace leanstream::scheduler
