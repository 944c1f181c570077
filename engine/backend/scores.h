// Scores that a world computes itself, by the run's predictor.
#pragma once

#include <cstdint>
#include <span>

#include "engine/backend/buffer_pool.h"
#include "engine/backend/world.h"
#include "engine/base/check.h"

namespace leanstream::backend {

class Scores {
 public:
  explicit Scores(const WorldSpec& spec)
      : predictor_(spec.predictor), ffn_(static_cast<std::size_t>(spec.shape.ffn)) {}

  // One code a neuron, valid until reset().
  std::span<const std::uint8_t> of(const scheduler::Command& prediction) {
    LEANSTREAM_CHECK(predictor_ != nullptr, "a prediction without a predictor");
    auto& codes = buffers_.take(ffn_);
    predictor_->predict(prediction.token, prediction.layer, prediction.feature, codes);
    return codes;
  }
  void reset() { buffers_.reset(); }

 private:
  const policy::Predictor* predictor_;
  std::size_t ffn_;
  BufferPool<std::uint8_t> buffers_;
};

}  // namespace leanstream::backend
