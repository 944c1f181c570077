// leanstream trace: what is in a trace file, and whether it is sound.
#include "traces/trace.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "experiments/commands/commands.h"
#include "traces/statistics.h"

namespace leanstream::commands {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  std::string file;
  double density = 0.2;
  bool json = false;
};

// NaN and unknown become null.
Json number(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

Json header_json(const traces::Trace& trace) {
  const auto& info = trace.info();
  return {{"file", trace.path()},
          {"kind", traces::to_string(info.kind)},
          {"model",
           {{"name", info.model.name},
            {"layers", info.model.layers},
            {"hidden", info.model.hidden},
            {"ffn", info.model.ffn},
            {"hash", info.model.hash}}},
          {"source", info.source},
          {"upstream_density", info.upstream_density},
          {"recall_density", info.recall_density},
          {"error_persistence", info.error_persistence},
          {"knobs", info.knobs},
          {"tool", info.tool},
          {"command", info.command},
          {"tokens", trace.tokens()},
          {"features", trace.has_features()},
          {"recall", trace.has_recall()},
          {"perplexity", number(traces::perplexity(trace))},
          {"perplexity_after_256", number(traces::perplexity(trace, 256))}};
}

Json statistics_json(const traces::Statistics& s) {
  Json hottest = Json::object();
  for (std::size_t i = 0; i < s.hottest_share.size(); ++i) {
    hottest[fmt::format("{}", traces::kHottestShares[i])] = s.hottest_share[i];
  }
  Json caches = Json::array();
  for (const auto& c : s.cache) {
    caches.push_back({{"cache_share", c.cache_share},
                      {"static_hottest_miss_ratio", c.static_hottest},
                      {"lru_miss_ratio", c.lru},
                      {"lfu_miss_ratio", c.lfu},
                      {"belady_miss_ratio", c.belady}});
  }
  return {{"density", s.density},
          {"active_neurons", s.active_neurons},
          {"importance_share", s.importance_share},
          {"overlap", s.overlap},
          {"overlap_by_layer", s.overlap_by_layer},
          {"hottest_share", std::move(hottest)},
          {"never_active_share", s.never_active_share},
          {"tied_at_threshold", s.tied_at_threshold},
          {"chosen_by_hash_share", s.chosen_by_hash_share},
          {"warm_up_tokens", s.warm_up_tokens},
          {"cache", std::move(caches)}};
}

void print_header(const traces::Trace& trace) {
  const auto& info = trace.info();
  fmt::print("{}: {} trace of {}\n", trace.path(), traces::to_string(info.kind), info.model.name);
  fmt::print("  {} tokens × {} layers × {} neurons, hidden {}\n", trace.tokens(), trace.layers(),
             trace.ffn(), info.model.hidden);
  fmt::print("  weights           {}\n", info.model.hash.empty() ? "none" : info.model.hash);
  fmt::print("  source            {}\n", info.source);
  for (const auto& [name, value] : info.knobs)
    fmt::print("  asked for         {} {}\n", name, value);
  fmt::print("  upstream density  {}\n", info.upstream_density);
  fmt::print("  written by        {}  ({})\n", info.tool, info.command);
  fmt::print("  features          {}\n", trace.has_features() ? "index −2 … 8" : "none");
  if (const auto all = traces::perplexity(trace)) {
    const auto late = traces::perplexity(trace, 256);
    fmt::print("  perplexity        {:.3f}{}\n", *all,
               late ? fmt::format("; {:.3f} with ≥ 256 tokens before", *late) : "");
  }
  if (!trace.has_recall()) return;
  fmt::print("  recall of the true top {} from feature −2 … 8, mean over layers:\n   ",
             info.recall_density);
  for (int feature = traces::kFirstFeature; feature <= traces::kLastFeature; ++feature) {
    double sum = 0;
    for (LayerId l = 0; l < trace.layers(); ++l) sum += trace.recall(l, feature);
    fmt::print(" {:.3f}", sum / trace.layers());
  }
  fmt::print("\n");
}

void print_statistics(const traces::Statistics& s) {
  const auto& overlap = s.overlap_by_layer;
  fmt::print("\nat density {} ({} neurons of a layer and token)\n", s.density, s.active_neurons);
  fmt::print("  share of importance in the active set        {:.3f}\n", s.importance_share);
  fmt::print("  kept from the token before                   {:.3f}", s.overlap);
  fmt::print("  (layer 0 / {} / {}: {:.2f} / {:.2f} / {:.2f})\n", overlap.size() / 2,
             overlap.size() - 1, overlap.front(), overlap[overlap.size() / 2], overlap.back());
  fmt::print("  firings in the hottest 10 / 20 / 30 / 50 %   {:.3f} / {:.3f} / {:.3f} / {:.3f}\n",
             s.hottest_share[0], s.hottest_share[1], s.hottest_share[2], s.hottest_share[3]);
  fmt::print("  neurons never active                         {:.2f} %\n",
             100 * s.never_active_share);
  fmt::print(
      "  neurons on the threshold's code              {:.1f}  ({:.2f} % of the set by hash)\n",
      s.tied_at_threshold, 100 * s.chosen_by_hash_share);
  fmt::print("\nmiss ratio, one cache for all layers, set-wise, after {} tokens\n",
             s.warm_up_tokens);
  fmt::print("  cache    static hottest    LRU      LFU      Belady\n");
  for (const auto& c : s.cache) {
    fmt::print("  {:3.0f} %    {:.3f}             {:.3f}    {:.3f}    {:.3f}\n",
               100 * c.cache_share, c.static_hottest, c.lru, c.lfu, c.belady);
  }
}

void run_info(const InfoOptions& options) {
  const traces::Trace trace(options.file);
  const auto statistics = traces::statistics(trace, options.density);
  if (options.json) {
    Json out = header_json(trace);
    out["statistics"] = statistics_json(statistics);
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  print_header(trace);
  print_statistics(statistics);
}

void run_check(const std::vector<std::string>& files) {
  std::vector<std::string> problems;
  for (const auto& file : files) {
    const auto of_file = traces::check_file(file);
    if (of_file.empty()) fmt::print("{}: ok\n", file);
    problems.insert(problems.end(), of_file.begin(), of_file.end());
  }
  std::fflush(stdout);
  if (problems.empty()) return;
  throw UserError("{} problem{}\n{}", problems.size(), problems.size() == 1 ? "" : "s",
                  fmt::join(problems, "\n"));
}

}  // namespace

void add_trace(CLI::App& app) {
  auto* trace = app.add_subcommand(
      "trace", "activation traces: what is in them, are they sound, what would caches miss");
  trace->require_subcommand(1);

  auto* info = trace->add_subcommand("info", "header, sparsity, persistence and cache figures");
  const auto options = std::make_shared<InfoOptions>();
  info->add_option("file", options->file, "trace file")->required();
  info->add_option("--density", options->density, "share of neurons that count as active")
      ->capture_default_str();
  info->add_flag("--json", options->json, "JSON to stdout");
  info->callback([options] { run_info(*options); });

  auto* check = trace->add_subcommand("check", "all problems of trace files");
  const auto files = std::make_shared<std::vector<std::string>>();
  check->add_option("files", *files, "trace files")->required();
  check->callback([files] { run_check(*files); });
  add_trace_misses(*trace);
  add_trace_export(*trace);
  add_trace_placement(*trace);
  add_trace_fit(*trace);
}

}  // namespace leanstream::commands
