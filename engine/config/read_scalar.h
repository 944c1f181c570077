// Reading one scalar of a YAML file against a parameter's description. Each returns no value and
// reports at the node's position when the text is not what the description allows.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/config/memory_budget.h"
#include "engine/config/node.h"
#include "engine/config/parameter_info.h"

namespace leanstream::config {

std::optional<std::int64_t> read_signed(const Node& node, const ParameterInfo& info,
                                        Diagnostics& diagnostics);
std::optional<std::uint64_t> read_unsigned(const Node& node, const ParameterInfo& info,
                                           Diagnostics& diagnostics);
// A number, a ratio or a quantity, in base units.
std::optional<double> read_quantity(const Node& node, const ParameterInfo& info,
                                    Diagnostics& diagnostics);
std::optional<bool> read_flag(const Node& node, const ParameterInfo& info,
                              Diagnostics& diagnostics);
std::optional<std::string> read_text(const Node& node, const ParameterInfo& info,
                                     Diagnostics& diagnostics);
// The index in info.choices.
std::optional<std::size_t> read_choice(const Node& node, const ParameterInfo& info,
                                       Diagnostics& diagnostics);
std::optional<MemoryBudget> read_budget(const Node& node, const ParameterInfo& info,
                                        Diagnostics& diagnostics);

// Reports a value outside the range of `info` or of a stored type that ends at `largest`.
bool within(const Node& node, double value, double largest, const ParameterInfo& info,
            Diagnostics& diagnostics);

// Any integer type, checked against its own limits too.
template <std::integral M>
std::optional<M> read_integer(const Node& node, const ParameterInfo& info,
                              Diagnostics& diagnostics) {
  const auto wide = [&] {
    if constexpr (std::unsigned_integral<M>) {
      return read_unsigned(node, info, diagnostics);
    } else {
      return read_signed(node, info, diagnostics);
    }
  }();
  if (!wide) return std::nullopt;
  if (std::in_range<M>(*wide)) return static_cast<M>(*wide);
  diagnostics.error(node.position(), "'{}' is {}; it must be {} … {}", info.name, *wide,
                    std::numeric_limits<M>::min(), std::numeric_limits<M>::max());
  return std::nullopt;
}

}  // namespace leanstream::config
