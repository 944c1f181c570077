#include "experiments/run/live.h"

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::run {
namespace {

using scheduler::Command;
using scheduler::CommandKind;

// Enough for sets: what is in counts, the rest does not.
traces::LevelTable levels_of_sets() {
  traces::LevelTable levels{};
  for (std::size_t c = 0; c < levels.size(); ++c) {
    levels[c] = static_cast<float>(c) / static_cast<float>(levels.size() - 1);
  }
  return levels;
}

}  // namespace

LiveActivations::LiveActivations(const LiveInput& input, const model::ModelShape& shape)
    : input_(input), shape_(shape), levels_(input.levels) {
  levels_.resize(static_cast<std::size_t>(shape.layers), levels_of_sets());
}

void LiveActivations::prepare(const Experiment& e, bool predicts) {
  predicts_ = predicts;
  audit_every_ = e.audit_every;
  if (!e.forced_sets.empty()) {
    sets_ = transformer::ActiveSets::read(model::SafetensorsReader(e.forced_sets), "sets",
                                          shape_.layers, shape_.ffn);
    if (sets_->tokens() < input_.tokens) {
      throw UserError("{}: sets of {} tokens for {} tokens; state tokens: {}", e.forced_sets,
                      sets_->tokens(), input_.tokens, sets_->tokens());
    }
  }
  if ((predicts && !sets_) || audit_every_ > 0) {
    shadow_.emplace(e.hardware.weights, input_);
    levels_ = shadow_->levels();
  }
}

std::span<const std::uint8_t> LiveActivations::importance(TokenId token, LayerId layer) const {
  if (sets_) {
    asked_.clear();
    add_forced(token, layer, asked_);
    return asked_;
  }
  LEANSTREAM_CHECK(shadow_, "importance of token {} without a shadow", token);
  return shadow_->importance(token, layer);
}

void LiveActivations::add_forced(TokenId token, LayerId layer,
                                 std::vector<std::uint8_t>& codes) const {
  for (std::int32_t j = 0; j < shape_.ffn; ++j) {
    codes.push_back(sets_->test(token, layer, j) ? 255 : 0);
  }
}

bool LiveActivations::is_audited(TokenId token) const {
  return audit_every_ > 0 && (token - input_.prompt_tokens) % audit_every_ == 0;
}

std::span<const std::uint8_t> LiveActivations::ended(const Command& command,
                                                     const backend::Computed& computed) {
  if (shadow_) shadow_->ended(command, computed);
  if (command.kind == CommandKind::head && on_token_ && command.token + 1 < input_.tokens &&
      computed.sampled != input_.end_token) {
    on_token_(computed.sampled);
  }
  if (command.kind != CommandKind::end_layer) return {};
  told_.clear();
  if (command.token >= input_.prompt_tokens) {
    if (!is_audited(command.token)) return {};
    const auto truth = shadow_->importance(command.token, command.layer);
    told_.assign(truth.begin(), truth.end());
    return told_;
  }
  if (!predicts_) return {};
  const auto ffn = static_cast<std::size_t>(shape_.ffn);
  for (TokenId t = 0; t < command.tokens; ++t) {
    if (sets_) {
      add_forced(t, command.layer, told_);
    } else {
      const auto of_token = computed.importance.subspan(static_cast<std::size_t>(t) * ffn, ffn);
      shadow_->encode(command.layer, of_token, told_);
    }
  }
  return told_;
}

std::vector<std::pair<std::string, std::string>> LiveActivations::facts() const {
  if (!shadow_) return {};
  return {{"shadow",
           "the model in f32, outside budget and time: figures of time are no measure of "
           "speed"}};
}

}  // namespace leanstream::run
