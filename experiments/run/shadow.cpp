#include "experiments/run/shadow.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/transformer/forward.h"

namespace leanstream::run {
namespace {

namespace tf = leanstream::transformer;
using scheduler::Command;
using scheduler::CommandKind;

// Looks at a pass that computes everything.
class LevelFit final : public tf::Observer {
 public:
  void mlp(tf::MlpStep& step) override {
    const auto view = step.importance.view();
    const auto tokens = static_cast<std::size_t>(view.rows);
    const auto ffn = static_cast<std::size_t>(view.columns);
    levels.push_back(
        traces::make_levels(traces::fit_region({view.data, tokens * ffn}, tokens, ffn, ffn)));
  }
  std::vector<traces::LevelTable> levels;
};

}  // namespace

Shadow::Shadow(const std::string& gguf, const LiveInput& input)
    : input_(input),
      model_(tf::GgufFile(gguf)),
      cache_(model_.shape().layers, model_.shape().kv_size(), input.tokens) {
  const auto layers = static_cast<std::size_t>(model_.shape().layers);
  for (Token* token : {&now_, &before_}) token->layers.resize(layers);
  fit_levels();
  const auto prompt = std::span(input.ids).first(static_cast<std::size_t>(input.prompt_tokens));
  if (prompt.empty()) {
    model_.embed(std::span(input.ids).first(1), x_);
    begin(0);
    put_input(0, std::as_const(x_)[0]);
  } else {
    model_.embed(prompt, x_);
    model_.attend(0, cache_, x_);
    begin(input.prompt_tokens - 1);  // whose residuals are kept: the token before the first decoded
  }
}

void Shadow::fit_levels() {
  const auto ids = std::span(input_.ids).first(std::min(input_.ids.size(), tf::kChunkTokens));
  const auto& shape = model_.shape();
  tf::KvCache cache(shape.layers, shape.kv_size(), static_cast<std::int64_t>(ids.size()));
  LevelFit fit;
  tf::forward(model_, cache, ids, fit, x_);
  levels_ = std::move(fit.levels);
  for (const auto& table : levels_) quantisers_.emplace_back(table);
}

void Shadow::begin(TokenId token) {
  std::swap(now_, before_);
  now_.token = token;
  for (Layer& layer : now_.layers) {
    for (Residual* r : {&layer.input, &layer.own, &layer.attended, &layer.newest}) r->clear();
  }
}

// After the attention of a layer, for residuals [tokens, hidden] before it.
tf::Matrix Shadow::attend(LayerId layer, std::span<const float> residuals) {
  const std::int64_t hidden = model_.shape().hidden;
  tf::Matrix x(static_cast<std::int64_t>(residuals.size()) / hidden, hidden);
  std::copy(residuals.begin(), residuals.end(), x.view().data);
  model_.attend(layer, cache_, x);
  return x;
}

void Shadow::put_input(LayerId l, std::span<const float> residual) {
  Layer& layer = now_.layers[static_cast<std::size_t>(l)];
  layer.input.assign(residual.begin(), residual.end());
  const tf::Matrix x = attend(l, residual);
  layer.own.assign(x[0].begin(), x[0].end());
}

void Shadow::ended(const Command& command, const backend::Computed& computed) {
  const auto residual = computed.residual;
  const bool prompt = command.token < input_.prompt_tokens && command.kind != CommandKind::head;
  const auto hidden = static_cast<std::size_t>(model_.shape().hidden);
  switch (command.kind) {
    case CommandKind::attention: {
      const auto last = residual.last(hidden);
      now_.layers[static_cast<std::size_t>(command.layer)].attended.assign(last.begin(),
                                                                           last.end());
      return;
    }
    case CommandKind::release:
      if (prompt) return;
      now_.layers[static_cast<std::size_t>(command.layer)].newest.assign(residual.begin(),
                                                                         residual.end());
      return;
    case CommandKind::end_layer: {
      const LayerId next = command.layer + 1;
      if (next == model_.shape().layers) return;
      if (prompt) {
        attend(next, residual);
      } else {
        put_input(next, residual);
      }
      return;
    }
    case CommandKind::head: {
      const TokenId next = command.token + 1;
      if (next == input_.tokens) return;
      cache_.advance(next - cache_.length());
      begin(next);
      put_input(0, residual);
      return;
    }
    default:
      return;
  }
}

std::span<const std::uint8_t> Shadow::importance(TokenId token, LayerId l) {
  LEANSTREAM_CHECK(token == now_.token || token == before_.token,
                   "importance of token {} while {} is decoded", token, now_.token);
  const Token& of = token == now_.token ? now_ : before_;
  const Layer& layer = of.layers[static_cast<std::size_t>(l)];
  if (!layer.attended.empty()) return codes_of(l, layer.attended);
  if (!layer.own.empty()) return codes_of(l, layer.own);
  LEANSTREAM_CHECK(l > 0 && token == now_.token, "nothing is known of token {}, layer {}", token,
                   l);
  const Layer& before = of.layers[static_cast<std::size_t>(l) - 1];
  const Residual& newest = !before.newest.empty()     ? before.newest
                           : !before.attended.empty() ? before.attended
                                                      : before.input;
  LEANSTREAM_CHECK(!newest.empty(), "nothing is known of token {} before layer {}", token, l);
  const tf::Matrix x = attend(l, newest);
  return codes_of(l, x[0]);
}

std::span<const std::uint8_t> Shadow::codes_of(LayerId l, std::span<const float> attended) {
  x_.resize(1, static_cast<std::int64_t>(attended.size()));
  std::copy(attended.begin(), attended.end(), x_[0].begin());
  model_.mlp_input(l, x_, mlp_input_);
  model_.gate_up(l, mlp_input_, h_);
  model_.importance(l, h_, importance_);
  codes_.clear();
  encode(l, std::as_const(importance_)[0], codes_);
  return codes_;
}

void Shadow::encode(LayerId l, std::span<const float> importance,
                    std::vector<std::uint8_t>& codes) const {
  const auto& quantiser = quantisers_[static_cast<std::size_t>(l)];
  for (const float s : importance) codes.push_back(quantiser.code(s));
}

}  // namespace leanstream::run
