// Predictions on a thread of their own, one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "engine/backend/world.h"
#include "engine/scheduler/command.h"
#include "engine/transformer/decoder.h"

namespace leanstream::hardware {

// Test predictors cost nothing real, so each prediction is accompanied by a product with as many
// bytes of weights as the predictor it stands for would read (WorldSpec::prediction). In a live run
// the product is all that the thread does. Each layer has weights of its own.
class PredictionUnit {
 public:
  // `wake` is called when a prediction has ended. The thread keeps to `processors`.
  PredictionUnit(const backend::WorldSpec& spec, std::span<const int> processors,
                 std::function<void()> wake);
  ~PredictionUnit();
  PredictionUnit(const PredictionUnit&) = delete;
  PredictionUnit& operator=(const PredictionUnit&) = delete;

  // The one before must have ended. Never blocks, but in a live run it predicts.
  void submit(const scheduler::Command& prediction);

  // Whether a prediction has ended since the last call; then its ticket and its codes, one a
  // neuron, until the next submit.
  bool poll(TicketId& ticket, std::span<const std::uint8_t>& codes);

  Bytes bytes() const { return weights_.bytes.size(); }

 private:
  enum State : std::uint32_t { idle, asked, done, over };

  void serve();
  void predict();

  const policy::Predictor* predictor_;
  bool live_;
  std::function<void()> wake_;
  transformer::StoredMatrix weights_;  // of the products, layer by layer
  std::vector<float> x_, y_;
  scheduler::Command command_;
  std::vector<std::uint8_t> codes_;
  std::atomic<std::uint32_t> state_{idle};
  std::thread thread_;
};

}  // namespace leanstream::hardware
