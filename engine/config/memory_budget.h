// How much memory a run may spend on weights, as users write it: "2.5 GB", "25% of mlp",
// "20% of model".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/types.h"

namespace leanstream::config {

struct MemoryBudget {
  enum class Basis { bytes, mlp, model };

  double value = 0.25;  // bytes, or a share of the basis
  Basis basis = Basis::mlp;

  // In bytes, for a model with these sizes.
  Bytes resolve(double mlp_bytes, double model_bytes) const;
  // As a user would write it; parse_memory_budget reads it back exactly.
  std::string text() const;

  friend bool operator==(const MemoryBudget&, const MemoryBudget&) = default;
};

// Without a value, `error` says what is wrong. Shares lie in (0, 100%], bytes are positive.
std::optional<MemoryBudget> parse_memory_budget(std::string_view text, std::string& error);

}  // namespace leanstream::config
