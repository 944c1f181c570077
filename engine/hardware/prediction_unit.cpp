#include "engine/hardware/prediction_unit.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/hardware/storage/processors.h"
#include "engine/transformer/block_kernel.h"

namespace leanstream::hardware {

using transformer::ConstRows;
using transformer::MutableRows;

PredictionUnit::PredictionUnit(const backend::WorldSpec& spec, std::span<const int> processors,
                               std::function<void()> wake)
    : predictor_(spec.predictor),
      live_(spec.observer != nullptr),
      wake_(std::move(wake)),
      x_(static_cast<std::size_t>(spec.shape.hidden), 1.0F),
      codes_(static_cast<std::size_t>(spec.shape.ffn)) {
  weights_.type = transformer::TensorType::kF16;
  weights_.columns = spec.shape.hidden;
  const std::size_t row = transformer::row_bytes(weights_.type, weights_.columns);
  const auto rows = static_cast<std::int64_t>(spec.prediction.bytes / row);
  weights_.rows = rows * spec.shape.layers;
  // Every byte is written, so that reading it is reading memory and not one page of zeros.
  weights_.bytes.assign(static_cast<std::size_t>(weights_.rows) * row, std::byte{1});
  y_.resize(static_cast<std::size_t>(rows));
  thread_ = thread_on(processors, [this] { serve(); });
}

PredictionUnit::~PredictionUnit() {
  while (state_.load() == asked) state_.wait(asked);
  state_.store(over);
  state_.notify_all();
  thread_.join();
}

void PredictionUnit::submit(const scheduler::Command& prediction) {
  LEANSTREAM_CHECK(predictor_ != nullptr, "a prediction without a predictor");
  LEANSTREAM_CHECK(state_.load() == idle, "ticket {} while another prediction runs",
                   prediction.ticket);
  command_ = prediction;
  if (live_) predictor_->predict(command_.token, command_.layer, command_.feature, codes_);
  state_.store(asked);
  state_.notify_all();
}

bool PredictionUnit::poll(TicketId& ticket, std::span<const std::uint8_t>& codes) {
  if (state_.load(std::memory_order_acquire) != done) return false;
  ticket = command_.ticket;
  codes = codes_;
  state_.store(idle);
  return true;
}

void PredictionUnit::serve() {
  for (;;) {
    const std::uint32_t state = state_.load();
    if (state == over) return;
    if (state != asked) {
      state_.wait(state);
      continue;
    }
    predict();
    state_.store(done);
    state_.notify_all();
    wake_();
  }
}

void PredictionUnit::predict() {
  if (!y_.empty()) {
    const ConstRows x{x_.data(), 1, weights_.columns, weights_.columns};
    const auto rows = std::ssize(y_);
    transformer::multiply_rows(weights_, command_.layer * rows, rows, x,
                               MutableRows{y_.data(), 1, rows, rows});
  }
  if (!live_) predictor_->predict(command_.token, command_.layer, command_.feature, codes_);
}

}  // namespace leanstream::hardware
