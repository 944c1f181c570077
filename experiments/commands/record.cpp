// leanstream record: a trace of what a real model computes on a text or while it answers.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/random.h"
#include "engine/transformer/chat.h"
#include "engine/transformer/generate.h"
#include "engine/transformer/recorder.h"
#include "engine/transformer/token_input.h"
#include "experiments/commands/commands.h"
#include "traces/trace_writer.h"

namespace leanstream::commands {
namespace {

namespace tf = leanstream::transformer;

struct RecordOptions {
  std::string gguf, text, token_ids, prompt, out, name, source;
  std::int64_t generate = 0;
  std::int64_t limit = 0;  // 0: all
  std::uint64_t seed = 1;
  tf::SamplingRule sampling;
  bool raw = false;
  bool no_recall = false;
  tf::RecordRule rule;
};

void check(const RecordOptions& o) {
  const int sources = !o.text.empty() + !o.token_ids.empty() + !o.prompt.empty();
  if (sources != 1) {
    throw UserError("record needs exactly one of --text FILE, --token-ids FILE, --prompt TEXT");
  }
  if (o.prompt.empty() && o.generate > 0) throw UserError("--generate needs --prompt TEXT");
  if (!o.prompt.empty() && o.generate == 0) throw UserError("--prompt needs --generate N");
  const auto share = [](const char* option, double value) {
    if (!(value > 0 && value <= 1)) {
      throw UserError("{} {}: it must be above 0 and at most 1", option, value);
    }
  };
  if (!o.no_recall) share("--recall-density", o.rule.recall_density);
  share("--upstream-density", o.rule.upstream_density);
  share("--top-p", o.sampling.top_p);
}

std::string source_of(const RecordOptions& o) {
  if (!o.source.empty()) return o.source;
  if (!o.prompt.empty()) return "prompt: " + o.prompt;
  return std::filesystem::path(o.text.empty() ? o.token_ids : o.text).filename().string();
}

std::vector<std::int32_t> read_ids(const RecordOptions& o, const tf::GgufFile& file,
                                   const tf::LlamaShape& shape) {
  std::vector<std::int32_t> ids;
  if (!o.token_ids.empty()) {
    ids = tf::read_token_ids(o.token_ids);
  } else {
    const tf::Tokenizer tokenizer(file);
    if (!o.text.empty()) {
      ids = tf::read_text_ids(o.text, tokenizer);
    } else if (o.raw) {
      ids = tokenizer.encode(o.prompt);
    } else {
      ids = tf::chat_prompt(file, tokenizer, o.prompt);
    }
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  if (o.limit > 0 && o.prompt.empty() && o.limit < count) {
    ids.resize(static_cast<std::size_t>(o.limit));
  }
  tf::check_token_ids(ids, shape, o.prompt.empty() ? 2 : 1, source_of(o));
  if (count + o.generate > shape.context && o.generate > 0) {
    throw UserError("{} tokens of prompt and {} new ones exceed the model's context of {}", count,
                    o.generate, shape.context);
  }
  return ids;
}

tf::Progress progress() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [](std::int64_t done, std::int64_t all) {
    fmt::print(stderr, "\r{} of {} tokens{}", done, all, done == all ? "\n" : "");
    std::fflush(stderr);
  };
}

// The text or answer goes through the model and past the recorder.
tf::Generated pass(const RecordOptions& o, const tf::GgufFile& file, const tf::Model& model,
                   std::vector<std::int32_t> ids, tf::Recorder& recorder) {
  if (o.prompt.empty()) {
    auto nll = tf::nll_of_text(model, ids, recorder, progress());
    return {std::move(ids), std::move(nll)};
  }
  const tf::Tokenizer tokenizer(file);
  RandomStream random(o.seed, "transformer.sampling");
  const std::size_t prompt = ids.size();
  auto all = tf::generate(model, ids, o.generate, o.sampling, random, tokenizer.end(), recorder,
                          progress());
  fmt::print("{}\n", tokenizer.decode(std::span(all.ids).subspan(prompt)));
  return all;
}

void print_recall(const std::vector<float>& recall, double density, std::int32_t layers) {
  fmt::print("recall of the top {} from features of the layer before, mean over layers 1 … {}\n",
             density, layers - 1);
  fmt::print("feature ");
  for (int f = 0; f < tf::kFeatureSlots; ++f) fmt::print("{:>6}", f + traces::kFirstFeature);
  fmt::print("\nrecall  ");
  for (int f = 0; f < tf::kFeatureSlots; ++f) {
    double sum = 0;
    for (std::int32_t l = 1; l < layers; ++l) {
      sum += double{recall[static_cast<std::size_t>(l * tf::kFeatureSlots + f)]};
    }
    fmt::print("{:>6.3f}", sum / (layers - 1));
  }
  fmt::print("\n");
}

traces::TraceInfo info_of(const RecordOptions& o, const tf::LlamaShape& shape) {
  traces::TraceInfo info;
  info.model.name = o.name.empty() ? std::filesystem::path(o.gguf).stem().string() : o.name;
  info.model.layers = shape.layers;
  info.model.hidden = shape.hidden;
  info.model.ffn = shape.ffn;
  info.model.hash = hash_file(o.gguf);
  info.source = source_of(o);
  info.upstream_density = o.rule.upstream_density;
  info.recall_density = o.rule.recall_density;
  info.tool = "leanstream record";
  info.command = command_line();
  return info;
}

void run(const RecordOptions& o) {
  check(o);
  check_writable(o.out);
  const tf::GgufFile file(o.gguf);
  const auto shape = tf::read_shape(file);
  const auto ids = read_ids(o, file, shape);
  const tf::Model model(file);
  tf::Recorder recorder(model, o.rule);
  const auto seen = pass(o, file, model, ids, recorder);
  traces::TraceWriter writer(info_of(o, shape), static_cast<TokenId>(recorder.tokens()));
  writer.set_importance(recorder.importance());
  writer.set_tokens(seen.ids);
  writer.set_nll(seen.nll);
  if (o.rule.keep_features) writer.set_features(recorder.features());
  const auto recall = recorder.recall();
  if (!recall.empty()) {
    writer.set_recall(recall, o.rule.recall_density);
    if (shape.layers > 1) print_recall(recall, o.rule.recall_density, shape.layers);
  }
  writer.write(o.out);
  fmt::print("{}: {} tokens, perplexity {:.4f}\n", o.out, recorder.tokens(),
             tf::perplexity(seen.nll, 0));
}

void add_source_options(CLI::App& command, RecordOptions& o) {
  command.add_option("--gguf", o.gguf, "model file of architecture llama")->required();
  command.add_option("--text", o.text, "text file");
  command.add_option("--token-ids", o.token_ids,
                     "ids: numbers, or safetensors with `tokens`, i32 [n]");
  command.add_option("--limit", o.limit, "only the first N tokens of the text")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
  command.add_option("--prompt", o.prompt, "question to an instruct model");
  command.add_flag("--raw", o.raw, "the prompt as it is, without chat template");
  command.add_option("--generate", o.generate, "tokens to generate, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  command.add_option("--temperature", o.sampling.temperature, "0 (default): the likeliest token")
      ->check(CLI::Range(0.0, 100.0));
  command.add_option("--top-k", o.sampling.top_k, "sample among the k likeliest (default: all)")
      ->check(CLI::Range(1, 1 << 24));
  command.add_option("--top-p", o.sampling.top_p, "sample within this probability (default 1)");
  command.add_option("--seed", o.seed, "of sampling (default 1)");
}

}  // namespace

void add_record(CLI::App& app) {
  auto o = std::make_shared<RecordOptions>();
  auto* command = app.add_subcommand("record", "an activation trace of a GGUF model");
  add_source_options(*command, *o);
  command->add_flag("--features", o->rule.keep_features, "also features −2 … 8, f16");
  command->add_option("--recall-density", o->rule.recall_density,
                      "density of the recall table (default 0.2)");
  command->add_flag("--no-recall", o->no_recall, "leave the recall table out: eight times faster");
  command->add_option("--upstream-density", o->rule.upstream_density,
                      "share of neurons that layers compute while recording (default 1)");
  command->add_option("--model-name", o->name, "name of the model (default: from the file name)");
  command->add_option("--source", o->source, "what the text is, for the header");
  command->add_option("--out", o->out, "trace file")->required();
  command->callback([o] {
    if (o->no_recall) o->rule.recall_density = 0;
    run(*o);
  });
}

}  // namespace leanstream::commands
