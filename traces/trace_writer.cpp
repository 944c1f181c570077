#include "traces/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/model/safetensors.h"

namespace leanstream::traces {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// ln of a probability that is 1 but for rounding may come out a little below zero.
constexpr float kRoundingBelowZero = -1e-3F;

void check_finite(std::span<const float> importance, std::size_t layers, std::size_t ffn) {
  for (std::size_t i = 0; i < importance.size(); ++i) {
    const float s = importance[i];
    if (s >= 0 && std::isfinite(s)) continue;
    throw UserError("importance of token {}, layer {}, neuron {} is {}; it must be finite and ≥ 0",
                    i / (layers * ffn), i / ffn % layers, i % ffn, s);
  }
}

}  // namespace

TraceWriter::TraceWriter(TraceInfo info, TokenId tokens) : info_(std::move(info)), tokens_(tokens) {
  std::vector<std::string> problems;
  from_metadata(to_metadata(info_), problems);
  if (tokens < 1) problems.push_back(fmt::format("{} tokens; a trace has at least 1", tokens));
  if (!problems.empty()) throw UserError("trace: {}", fmt::join(problems, "; "));
  token_ids_.assign(static_cast<std::size_t>(tokens), 0);
  nll_.assign(static_cast<std::size_t>(tokens), kUnknown);
}

std::size_t TraceWriter::neurons() const {
  return static_cast<std::size_t>(info_.model.layers) * static_cast<std::size_t>(info_.model.ffn);
}

void TraceWriter::expect(std::string_view tensor, std::size_t values, std::size_t wanted) const {
  if (values == wanted) return;
  throw UserError("trace: {} holds {} values; {} tokens of {} × {} need {}", tensor, values,
                  tokens_, info_.model.layers, info_.model.ffn, wanted);
}

void TraceWriter::set_importance(std::span<const float> importance) {
  const std::size_t tokens = token_ids_.size();
  expect("importance", importance.size(), tokens * neurons());
  const auto layers = static_cast<std::size_t>(info_.model.layers);
  const auto ffn = static_cast<std::size_t>(info_.model.ffn);
  check_finite(importance, layers, ffn);
  codes_.resize(importance.size());
  levels_.clear();
  for (std::size_t l = 0; l < layers; ++l) {
    const LevelTable levels =
        make_levels(fit_region(importance.subspan(l * ffn), tokens, ffn, neurons()));
    const Quantiser quantiser(levels);
    for (std::size_t t = 0; t < tokens; ++t) {
      const std::size_t first = t * neurons() + l * ffn;
      for (std::size_t j = first; j < first + ffn; ++j) codes_[j] = quantiser.code(importance[j]);
    }
    levels_.insert(levels_.end(), levels.begin(), levels.end());
  }
}

void TraceWriter::set_codes(std::vector<std::uint8_t> codes, std::vector<float> levels) {
  expect("importance", codes.size(), token_ids_.size() * neurons());
  expect("levels", levels.size(), static_cast<std::size_t>(info_.model.layers) * model::kLevels);
  codes_ = std::move(codes);
  levels_ = std::move(levels);
}

void TraceWriter::set_tokens(std::span<const std::int32_t> tokens) {
  expect("tokens", tokens.size(), token_ids_.size());
  token_ids_.assign(tokens.begin(), tokens.end());
}

void TraceWriter::set_nll(std::span<const float> nll) {
  const std::size_t without_first = nll_.size() - 1;
  if (nll.size() != without_first) {
    expect("nll", nll.size(), nll_.size());
    nll = nll.subspan(1);
  }
  for (std::size_t i = 0; i < without_first; ++i) {
    const float value = nll[i];
    if (std::isinf(value) || value < kRoundingBelowZero) {
      throw UserError("trace: nll of token {} is {}; it must be finite and ≥ 0 or NaN", i + 1,
                      value);
    }
    nll_[i + 1] = std::isnan(value) ? kUnknown : std::max(value, 0.0F);
  }
}

void TraceWriter::set_features(std::span<const std::uint16_t> features_f16) {
  const std::size_t of_layer = kFeatures * static_cast<std::size_t>(info_.model.hidden);
  expect("features", features_f16.size(),
         token_ids_.size() * static_cast<std::size_t>(info_.model.layers) * of_layer);
  features_ = features_f16;
}

void TraceWriter::set_recall(std::span<const float> recall, double density) {
  expect("recall", recall.size(), static_cast<std::size_t>(info_.model.layers) * kFeatures);
  if (!(density > 0 && density <= 1)) {
    throw UserError("trace: recall at density {}; it must be in 0 … 1", density);
  }
  recall_.assign(recall.begin(), recall.end());
  info_.recall_density = density;
}

void TraceWriter::write(const std::string& path) const {
  if (codes_.empty()) throw UserError("{}: importances were not set", path);
  const std::int64_t tokens = tokens_;
  const std::int64_t layers = info_.model.layers;
  using model::Dtype;
  // Wide elements first, so that all stay aligned.
  std::vector<model::TensorSpec> tensors = {{"levels", Dtype::kF32, {layers, model::kLevels}},
                                            {"tokens", Dtype::kI32, {tokens}},
                                            {"nll", Dtype::kF32, {tokens}}};
  if (!recall_.empty()) tensors.push_back({"recall", Dtype::kF32, {layers, kFeatures}});
  if (!features_.empty()) {
    tensors.push_back({"features", Dtype::kF16, {tokens, layers, kFeatures, info_.model.hidden}});
  }
  tensors.push_back({"importance", Dtype::kU8, {tokens, layers, info_.model.ffn}});

  model::SafetensorsWriter writer(path, std::move(tensors), to_metadata(info_));
  writer.append<float>("levels", levels_);
  writer.append<std::int32_t>("tokens", token_ids_);
  writer.append<float>("nll", nll_);
  if (!recall_.empty()) writer.append<float>("recall", recall_);
  if (!features_.empty()) writer.append<std::uint16_t>("features", features_);
  writer.append<std::uint8_t>("importance", codes_);
  writer.commit();
}

}  // namespace leanstream::traces
