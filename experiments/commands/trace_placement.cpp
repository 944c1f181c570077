// leanstream trace placement: what orders of neurons on flash are worth on a trace.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/document.h"
#include "engine/model/shape.h"
#include "engine/platform/platform_file.h"
#include "engine/policy/place/placement.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "traces/placement_statistics.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;

struct PlacementOptions {
  std::string trace, platform;
  std::vector<std::string> placements{"identity", "frequency", "pairwise"};
  std::vector<std::int32_t> block_neurons{1, 2, 3, 4, 8};
  double density = 0.2;
  double bytes_per_weight = 2;
  std::optional<TokenId> fit_tokens, tokens;
  bool json = false;
};

struct Range {
  TokenId fit = 0;  // tokens before are fitted on
  TokenId end = 0;
};

Range range_of(const PlacementOptions& o, const traces::Trace& trace) {
  Range range{o.fit_tokens.value_or(trace.tokens() / 2), trace.tokens()};
  if (o.tokens) range.end = range.fit + *o.tokens;
  if (range.fit >= trace.tokens() || range.end > trace.tokens() || range.end <= range.fit) {
    throw UserError("{}: {} tokens; --fit-tokens {} leaves {} to look at", trace.path(),
                    trace.tokens(), range.fit, trace.tokens() - range.fit);
  }
  return range;
}

// A policy's name, a map as in an experiment, or a file that was trained.
policy::Registry<policy::Placement>::Choice choose(const std::string& text) {
  const bool is_file = text.ends_with(".safetensors");
  const std::string yaml =
      is_file ? fmt::format("{{policy: file, file: {}}}", Json(text).dump()) : text;
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "--placement", diagnostics);
  diagnostics.throw_if_any();
  auto choice = policy::Registry<policy::Placement>::instance().choose(
      document.root ? document.root : config::Node{}, diagnostics);
  diagnostics.throw_if_any();
  return choice;
}

traces::PlacementStatistics measure(const PlacementOptions& o, const traces::Trace& trace,
                                    const Range& range, const std::string& text) {
  const auto& model = trace.info().model;
  const auto placement =
      choose(text).make({&trace, range.fit, o.density, model.layers, model.ffn, model.hash, {}});
  std::vector<std::span<const std::int32_t>> orders;
  for (LayerId l = 0; l < model.layers; ++l) orders.push_back(placement->order(l));
  return traces::placement_statistics(trace, orders, o.density, range.fit, range.end,
                                      o.block_neurons);
}

// With the device's queue full: requests and bytes are each taken at their most. Bandwidth counts
// what was wanted.
void add_device(const PlacementOptions& o, const platform::Flash& flash, const traces::Trace& trace,
                double wanted, const traces::PlacementFigures& f, Json& row) {
  const auto& model = trace.info().model;
  const double neuron_bytes = 3.0 * model.hidden * o.bytes_per_weight;
  const auto geometry = model::cut_into_blocks(
      model.ffn, f.block_neurons, neuron_bytes * f.block_neurons, flash.logical_block_bytes);
  const double bytes = f.blocks * static_cast<double>(geometry.block_bytes);
  const double peak = std::min(flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s);
  const double seconds = std::max(f.requests / flash.requests_per_s, bytes / peak);
  row["read_amplification"] = bytes / (wanted * neuron_bytes);
  row["request_bytes"] = bytes / f.requests;
  row["effective_gb_per_s"] = wanted * neuron_bytes / seconds * 1e-9;
}

void print(Json rows, const Range& range, const PlacementOptions& o) {
  fmt::print(
      "tokens {} … {} of {}, density {}; placements that fit themselves look at those "
      "before\n\n",
      range.fit, range.end - 1, o.trace, o.density);
  for (Json& row : rows) {
    for (auto& [key, value] : row.items()) {
      if (value.is_number_float()) value = fmt::format("{:.4g}", value.get<double>());
    }
  }
  fmt::print("{}", table_text(config::Json::parse(rows.dump())));
}

void run_placement(const PlacementOptions& o) {
  if (!(o.density > 0 && o.density <= 1)) {
    throw UserError("--density {}: it must be above 0 and at most 1", o.density);
  }
  const traces::Trace trace(o.trace);
  const Range range = range_of(o, trace);
  std::optional<platform::LoadedPlatform> platform;
  if (!o.platform.empty()) platform = platform::load_platform(o.platform);
  for (const std::int32_t k : o.block_neurons) {
    if (k <= trace.ffn()) continue;
    throw UserError("--block-neurons {}: a layer has {} neurons", k, trace.ffn());
  }
  const auto identity = measure(o, trace, range, "identity");
  Json rows = Json::array();
  for (const auto& text : o.placements) {
    const auto statistics = measure(o, trace, range, text);
    for (std::size_t i = 0; i < o.block_neurons.size(); ++i) {
      const auto& f = statistics.by_block_neurons[i];
      Json row{{"placement", text},
               {"block_neurons", f.block_neurons},
               {"neurons_per_wanted", f.neurons_per_wanted},
               {"relative_to_identity",
                f.neurons_per_wanted / identity.by_block_neurons[i].neurons_per_wanted},
               {"mean_run", statistics.mean_run},
               {"blocks_per_request", f.blocks_per_request}};
      if (platform) {
        add_device(o, platform->platform.flash, trace, statistics.wanted, f, row);
      }
      rows.push_back(row);
    }
  }
  if (!o.json) return print(rows, range, o);
  fmt::print("{}\n", Json{{"trace", o.trace},
                          {"density", o.density},
                          {"first_token", range.fit},
                          {"tokens", range.end - range.fit},
                          {"platform", o.platform},
                          {"placements", rows}}
                         .dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void add_trace_placement(CLI::App& trace) {
  auto o = std::make_shared<PlacementOptions>();
  auto* command =
      trace.add_subcommand("placement", "neurons read for a wanted one, by order on flash");
  command->add_option("file", o->trace, "trace file")->required();
  command
      ->add_option("--placement", o->placements,
                   "a policy, a map as in an experiment, or a file of `train placement`")
      ->capture_default_str();
  command->add_option("--block-neurons", o->block_neurons, "neurons of a block (k)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--density", o->density, "share of neurons that are wanted")
      ->capture_default_str();
  command
      ->add_option("--fit-tokens", o->fit_tokens,
                   "tokens at the start that are not looked at, for those that fit themselves "
                   "(default: half)")
      ->check(CLI::Range(0, 1 << 24));
  command->add_option("--tokens", o->tokens, "tokens to look at (default: all others)")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--platform", o->platform, "also what its flash makes of the reads");
  command->add_option("--bytes-per-weight", o->bytes_per_weight, "of the blocks on that flash")
      ->check(CLI::Range(0.05, 8.0))
      ->capture_default_str();
  command->add_flag("--json", o->json, "JSON to stdout");
  command->callback([o] { run_placement(*o); });
}

}  // namespace leanstream::commands
