// What a live run is about, known before it begins: `activations: live` of an experiment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/parameter_info.h"
#include "engine/model/activations.h"
#include "engine/model/shape.h"
#include "experiments/run/experiment.h"
#include "traces/levels.h"

namespace leanstream::run {

struct LiveInput {
  std::vector<std::int32_t> ids;   // that are given: the prompt, or all of a text
  TokenId prompt_tokens = 0;       // of them, the first ones that go through prefill
  TokenId tokens = 0;              // of the run; an answer may end before
  std::int32_t end_token = kNone;  // ends an answer
  // What importance codes stand for, by layer: from a log. Empty: not known before the run begins.
  std::vector<traces::LevelTable> levels;

  // Every token is given, none is sampled.
  bool is_text() const { return static_cast<TokenId>(ids.size()) == tokens; }
};

// Reads the model file's tokenizer, and the text. `text` is the path of that file. Throws UserError
// naming what of the experiment cannot be.
LiveInput read_live_input(const Experiment& experiment, const std::string& text,
                          const model::ModelShape& shape);

// What the header of a live run's log holds of it, and back: a replay needs no model. Throws
// UserError when the log is of no live run.
config::Json live_json(const LiveInput& input, const model::Activations& activations);
LiveInput logged_live_input(const std::string& log, const model::ModelShape& shape);

}  // namespace leanstream::run
