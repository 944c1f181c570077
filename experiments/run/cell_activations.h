// Where a cell's activations come from: its trace, or the model, which then also says something.
#pragma once

#include <optional>

#include "engine/transformer/tokenizer.h"
#include "experiments/run/cell.h"
#include "experiments/run/live.h"

namespace leanstream::run {

class CellActivations {
 public:
  // The cell outlives it. A live one has its levels only when they are in a log.
  explicit CellActivations(const Cell& cell);

  // Loads what a live run computes with; of a trace nothing. Throws UserError.
  void prepare(const OnText& on_text);

  const model::Activations& view() const;
  backend::Observer* observer() { return live_ ? &*live_ : nullptr; }  // null: of a trace

  // Adds what only this knows of a run that has ended: what stood beside it, and the answer.
  void add_to(CellResult& result) const;

 private:
  const Cell& cell_;
  std::optional<LiveActivations> live_;
  std::optional<transformer::Tokenizer> tokenizer_;  // of an answer
};

}  // namespace leanstream::run
