// leanstream evaluate: perplexity of a GGUF model when each layer computes a share of its neurons.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/transformer/active_sets.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/token_input.h"
#include "experiments/commands/commands.h"
#include "experiments/report/csv.h"

namespace leanstream::commands {
namespace {

namespace tf = leanstream::transformer;
using Json = nlohmann::ordered_json;

struct EvaluateOptions {
  std::string gguf, text, token_ids;
  std::vector<double> densities{1.0};
  std::string select = "neurons";
  std::int32_t block = 1;
  std::int64_t skip = 0;
  std::int64_t limit = 0;  // 0: all
  std::string sets, save_sets, save_nll;
  bool json = false;
};

struct Result {
  std::optional<double> density;  // none: sets from a file
  double perplexity = 0;
};

void check(const EvaluateOptions& o) {
  for (const double density : o.densities) {
    if (!(density > 0 && density <= 1)) {
      throw UserError("--density {}: it must be above 0 and at most 1", density);
    }
  }
  for (const auto& [option, path] :
       {std::pair{"--save-sets", &o.save_sets}, std::pair{"--save-nll", &o.save_nll}}) {
    if (path->empty() || o.densities.size() == 1) continue;
    throw UserError("{} needs exactly one --density, not {}", option, o.densities.size());
  }
  if (o.select == "neurons" && o.block != 1) {
    throw UserError("--block {} needs --select blocks", o.block);
  }
}

std::vector<std::int32_t> read_ids(const EvaluateOptions& o, const tf::GgufFile& file,
                                   const tf::LlamaShape& shape) {
  const bool from_text = !o.text.empty();
  auto ids =
      from_text ? tf::read_text_ids(o.text, tf::Tokenizer(file)) : tf::read_token_ids(o.token_ids);
  if (o.limit > 0 && static_cast<std::size_t>(o.limit) < ids.size()) {
    ids.resize(static_cast<std::size_t>(o.limit));
  }
  tf::check_token_ids(ids, shape, o.skip + 2, from_text ? o.text : o.token_ids);
  return ids;
}

// A line that is rewritten, on a terminal only.
tf::Progress progress_of(const std::string& label) {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [label](std::int64_t done, std::int64_t all) {
    fmt::print(stderr, "\r{}: {} of {} tokens{}", label, done, all, done == all ? "\n" : "");
    std::fflush(stderr);
  };
}

// A row for each token from the second on: nll.csv of a live run without its first column.
void write_nll(const std::string& path, const std::vector<std::int32_t>& ids,
               const std::vector<float>& nll) {
  if (path.empty()) return;
  report::CsvTable table;
  table.header = {"token", "id", "nll"};
  for (std::size_t i = 0; i < nll.size(); ++i) {
    table.rows.push_back({std::to_string(i + 1), std::to_string(ids[i + 1]),
                          report::csv_number(static_cast<double>(nll[i]))});
  }
  table.write(path);
}

std::vector<Result> evaluate(const EvaluateOptions& o, const tf::Model& model,
                             const std::vector<std::int32_t>& ids) {
  const auto& shape = model.shape();
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<Result> results;
  if (!o.sets.empty()) {
    const auto sets =
        tf::ActiveSets::read(model::SafetensorsReader(o.sets), "sets", shape.layers, shape.ffn);
    if (sets.tokens() < count) {
      throw UserError("{}: sets of {} tokens for {} tokens; use --limit {}", o.sets, sets.tokens(),
                      count, sets.tokens());
    }
    tf::ForcingObserver observer(sets);
    const auto nll = tf::nll_of_text(model, ids, observer, progress_of("given sets"));
    results.push_back({std::nullopt, tf::perplexity(nll, o.skip)});
    write_nll(o.save_nll, ids, nll);
    return results;
  }
  for (const double density : o.densities) {
    std::optional<tf::ActiveSets> record;
    if (!o.save_sets.empty()) record.emplace(count, shape.layers, shape.ffn);
    tf::SelectingObserver observer({density, o.block}, shape.ffn, record ? &*record : nullptr);
    const auto label = fmt::format("density {}", density);
    const auto nll = tf::nll_of_text(model, ids, observer, progress_of(label));
    results.push_back({density, tf::perplexity(nll, o.skip)});
    write_nll(o.save_nll, ids, nll);
    if (record) record->write(o.save_sets);
  }
  return results;
}

void print_json(const EvaluateOptions& o, std::size_t tokens, const std::vector<Result>& results) {
  Json rows = Json::array();
  for (const Result& r : results) {
    rows.push_back(
        {{"density", r.density ? Json(*r.density) : Json(nullptr)}, {"perplexity", r.perplexity}});
  }
  const Json out{{"gguf", o.gguf},
                 {"text", o.text.empty() ? o.token_ids : o.text},
                 {"tokens", tokens},
                 {"skip", o.skip},
                 {"select", o.select},
                 {"block", o.block},
                 {"sets", o.sets.empty() ? Json(nullptr) : Json(o.sets)},
                 {"results", rows}};
  fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_table(const EvaluateOptions& o, std::size_t tokens, const std::vector<Result>& results) {
  fmt::print("{} tokens, perplexity of those after the first {}", tokens, o.skip);
  if (o.select == "blocks") fmt::print(", blocks of {} neurons", o.block);
  fmt::print("\n\ndensity  perplexity\n");
  for (const Result& r : results) {
    fmt::print("{:>7}  {:>10.4f}\n", r.density ? fmt::format("{}", *r.density) : "sets",
               r.perplexity);
  }
}

void run(const EvaluateOptions& o) {
  check(o);
  const tf::GgufFile file(o.gguf);
  const auto ids = read_ids(o, file, tf::read_shape(file));
  const tf::Model model(file);
  const auto results = evaluate(o, model, ids);
  o.json ? print_json(o, ids.size(), results) : print_table(o, ids.size(), results);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto o = std::make_shared<EvaluateOptions>();
  auto* command = app.add_subcommand("evaluate", "perplexity of a GGUF model at a density");
  command->add_option("--gguf", o->gguf, "model file of architecture llama")->required();
  auto* text = command->add_option("--text", o->text, "text file");
  auto* ids = command->add_option("--token-ids", o->token_ids,
                                  "ids: numbers, or safetensors with `tokens`, i32 [n]");
  text->excludes(ids);
  auto* density = command->add_option("--density", o->densities,
                                      "computed share of neurons, e.g. 1,0.5,0.2 (default 1)");
  density->delimiter(',');
  command->add_option("--select", o->select, "neurons | blocks (summed importance of a block)")
      ->check(CLI::IsMember({"neurons", "blocks"}));
  command->add_option("--block", o->block, "neighbouring neurons of a block")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--skip", o->skip, "perplexity of tokens after the first N (default 0)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command->add_option("--limit", o->limit, "only the first N tokens")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
  auto* sets = command->add_option(
      "--sets", o->sets, "compute these: safetensors `sets`, u8 [tokens, layers, ⌈ffn/8⌉]");
  sets->excludes(density);
  command->add_option("--save-sets", o->save_sets, "write the active sets (one density)")
      ->excludes(sets);
  command->add_option("--save-nll", o->save_nll, "write NLL by token (CSV; one density)");
  command->add_flag("--json", o->json, "print JSON");
  command->callback([o, command] {
    if (command->count("--text") + command->count("--token-ids") == 0) {
      throw UserError("evaluate needs --text FILE or --token-ids FILE");
    }
    run(*o);
  });
}

}  // namespace leanstream::commands
