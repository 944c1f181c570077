#include "experiments/run/live_input.h"

#include <algorithm>

#include "engine/backend/log_file.h"
#include "engine/base/error.h"
#include "engine/transformer/chat.h"
#include "engine/transformer/token_input.h"

namespace leanstream::run {
namespace {

namespace tf = leanstream::transformer;
using config::Json;

constexpr TokenId kAnswerTokens = 256;  // at most, when the experiment does not say

std::vector<std::int32_t> prompt_ids(const Experiment& e, const tf::GgufFile& file,
                                     const tf::Tokenizer& tokenizer) {
  if (e.chat && !file.text("tokenizer.chat_template", "").empty()) {
    return tf::chat_prompt(file, tokenizer, e.prompt);
  }
  auto ids = tokenizer.encode(e.prompt);
  if (tokenizer.adds_begin()) ids.insert(ids.begin(), tokenizer.begin());
  return ids;
}

void check_shape(const std::string& path, const tf::LlamaShape& a, const model::ModelShape& b) {
  if (a.layers == b.layers && a.hidden == b.hidden && a.ffn == b.ffn) return;
  throw UserError("{}: {} layers, hidden {}, ffn {}; the run is of {} ({}, {}, {})", path, a.layers,
                  a.hidden, a.ffn, b.name, b.layers, b.hidden, b.ffn);
}

LiveInput text_input(const Experiment& e, const std::string& path, const tf::LlamaShape& shape,
                     const tf::Tokenizer& tokenizer) {
  LiveInput input;
  input.ids = tf::read_text_ids(path, tokenizer);
  const auto all = static_cast<TokenId>(input.ids.size());
  input.tokens = e.tokens.value_or(std::min(all, shape.context));
  if (input.tokens > all) {
    throw UserError("{} has {} tokens, not {}", path, all, input.tokens);
  }
  input.ids.resize(static_cast<std::size_t>(input.tokens));
  tf::check_token_ids(input.ids, shape, 2, path);
  input.prompt_tokens = e.prompt_tokens;
  return input;
}

LiveInput prompt_input(const Experiment& e, const tf::GgufFile& file, const tf::LlamaShape& shape,
                       const tf::Tokenizer& tokenizer) {
  LiveInput input;
  input.ids = prompt_ids(e, file, tokenizer);
  tf::check_token_ids(input.ids, shape, 1, "the prompt");
  input.prompt_tokens = static_cast<TokenId>(input.ids.size());
  input.tokens = e.tokens.value_or(std::min(input.prompt_tokens + kAnswerTokens, shape.context));
  input.end_token = tokenizer.end() < 0 ? kNone : tokenizer.end();
  return input;
}

}  // namespace

LiveInput read_live_input(const Experiment& e, const std::string& text,
                          const model::ModelShape& model) {
  if (e.hardware.weights.empty()) {
    throw UserError(
        "activations: live runs the model itself; name its GGUF file (hardware: {{weights: "
        "FILE}})");
  }
  const tf::GgufFile file(e.hardware.weights);
  const tf::LlamaShape shape = tf::read_shape(file);
  check_shape(file.path(), shape, model);
  const tf::Tokenizer tokenizer(file);
  LiveInput input = e.prompt.empty() ? text_input(e, text, shape, tokenizer)
                                     : prompt_input(e, file, shape, tokenizer);
  if (input.tokens > shape.context) {
    throw UserError("{} tokens, but the context of the model is {}", input.tokens, shape.context);
  }
  return input;
}

Json live_json(const LiveInput& input, const model::Activations& activations) {
  Json levels = Json::array();
  for (LayerId l = 0; l < activations.layers(); ++l) {
    const auto of_layer = activations.levels(l);
    levels.push_back(std::vector<float>(of_layer.begin(), of_layer.end()));
  }
  return {{"token_ids", input.ids},
          {"prompt_tokens", input.prompt_tokens},
          {"tokens", input.tokens},
          {"end_token", input.end_token},
          {"levels", levels}};
}

LiveInput logged_live_input(const std::string& log, const model::ModelShape& shape) {
  const Json header = Json::parse(backend::LogReader(log).header(), nullptr,
                                  /*allow_exceptions=*/false);
  if (!header.is_object() || !header.contains("live")) {
    throw UserError("{}: the log of no live run", log);
  }
  LiveInput input;
  try {
    const Json& live = header["live"];
    live.at("token_ids").get_to(input.ids);
    live.at("prompt_tokens").get_to(input.prompt_tokens);
    live.at("tokens").get_to(input.tokens);
    live.at("end_token").get_to(input.end_token);
    live.at("levels").get_to(input.levels);
  } catch (const Json::exception& error) {
    throw UserError("{}: what its header says of a live run cannot be read: {}", log, error.what());
  }
  const bool sorted = std::all_of(input.levels.begin(), input.levels.end(), [](const auto& table) {
    return table.front() >= 0 && std::is_sorted(table.begin(), table.end());
  });
  if (input.levels.size() != static_cast<std::size_t>(shape.layers) || !sorted ||
      input.tokens < 1 || input.prompt_tokens < 0 || input.prompt_tokens >= input.tokens ||
      input.ids.size() > static_cast<std::size_t>(input.tokens)) {
    throw UserError("{}: its header is that of no live run of {} layers", log, shape.layers);
  }
  return input;
}

}  // namespace leanstream::run
