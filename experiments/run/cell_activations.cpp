#include "experiments/run/cell_activations.h"

#include <algorithm>

namespace leanstream::run {

CellActivations::CellActivations(const Cell& cell) : cell_(cell) {
  if (cell.live) live_.emplace(*cell.live, cell.model.shape);
}

void CellActivations::prepare(const OnText& on_text) {
  if (!live_) return;
  const Experiment& e = cell_.spec.experiment;
  const auto predictor = cell_.system.predictor.make({&view(), e.seed});
  live_->prepare(e, !predictor->wants_everything());
  if (cell_.live->is_text()) return;
  tokenizer_.emplace(transformer::GgufFile(e.hardware.weights));
  if (on_text) {
    live_->on_token([this, on_text](std::int32_t id) { on_text(tokenizer_->decode({&id, 1})); });
  }
}

const model::Activations& CellActivations::view() const {
  if (live_) return *live_;
  return *cell_.trace;
}

void CellActivations::add_to(CellResult& result) const {
  if (!live_) return;
  for (auto& fact : live_->facts()) result.facts.push_back(std::move(fact));
  if (!tokenizer_) return;
  const auto& metrics = result.metrics;  // a head more than decoded tokens
  const std::size_t count = std::min(metrics.sampled.size(), metrics.tokens.size());
  result.text = tokenizer_->decode(std::span(metrics.sampled).first(count));
}

}  // namespace leanstream::run
