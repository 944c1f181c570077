// The activations of a model that is computed as the run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/world.h"
#include "engine/model/activations.h"
#include "engine/transformer/active_sets.h"
#include "experiments/run/live_input.h"
#include "experiments/run/shadow.h"

namespace leanstream::run {

// The scheduler learns importance from the world alone (known() is false): the prompt's, and that
// of audited tokens. Predictors may ask what a shadow of the model makes of the residuals seen so
// far (Shadow::importance), or for forced sets: 255 for what is in them, 0 for the rest.
class LiveActivations final : public model::Activations, public backend::Observer {
 public:
  // Levels as `input` gives them, else those of forced sets; nothing is computed yet. Both outlive
  // it.
  LiveActivations(const LiveInput& input, const model::ModelShape& shape);

  // Loads what the run needs. `predicts`: predictors will ask, and the cache wants to know what the
  // prompt used. Throws UserError.
  void prepare(const Experiment& experiment, bool predicts);
  // Called with each token of the answer, not with what ends it.
  void on_token(std::function<void(std::int32_t id)> call) { on_token_ = std::move(call); }

  TokenId tokens() const override { return input_.tokens; }
  LayerId layers() const override { return shape_.layers; }
  std::int32_t ffn() const override { return shape_.ffn; }
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const override;
  bool known(TokenId, LayerId) const override { return false; }
  std::span<const float> levels(LayerId layer) const override {
    return levels_[static_cast<std::size_t>(layer)];
  }

  std::span<const std::uint8_t> ended(const scheduler::Command& command,
                                      const backend::Computed& computed) override;

  // What stood beside the run, for its record.
  std::vector<std::pair<std::string, std::string>> facts() const;

 private:
  void add_forced(TokenId token, LayerId layer, std::vector<std::uint8_t>& codes) const;
  bool is_audited(TokenId token) const;

  const LiveInput& input_;
  const model::ModelShape& shape_;
  std::vector<traces::LevelTable> levels_;
  bool predicts_ = false;
  std::int32_t audit_every_ = 0;
  std::optional<transformer::ActiveSets> sets_;
  mutable std::optional<Shadow> shadow_;  // asking it computes
  std::function<void(std::int32_t)> on_token_;
  std::vector<std::uint8_t> told_;           // to the scheduler
  mutable std::vector<std::uint8_t> asked_;  // by a predictor
};

}  // namespace leanstream::run
