#include "engine/config/read_scalar.h"

#include <algorithm>
#include <charconv>

#include "engine/base/nearest.h"

namespace leanstream::config {
namespace {

bool is_scalar(const Node& node, const ParameterInfo& info, Diagnostics& diagnostics) {
  if (node.is_scalar()) return true;
  if (node.is_null()) {
    diagnostics.error(node.position(), "'{}' has no value; it must be {}", info.name,
                      info.type_name);
  } else {
    diagnostics.error(node.position(), "'{}' must be {}, not {}", info.name, info.type_name,
                      node.describe());
  }
  return false;
}

template <typename N>
std::optional<N> read_whole(const Node& node, const ParameterInfo& info, Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  const std::string& text = node.text();
  N value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    diagnostics.error(node.position(), "'{}' is {}, more than 64 bits hold", info.name,
                      quote(text));
    return std::nullopt;
  }
  if (error != std::errc{} || end != text.data() + text.size()) {
    const char* sign = text.starts_with('-') && std::is_unsigned_v<N> ? " of at least 0" : "";
    diagnostics.error(node.position(), "'{}' must be a whole number{}, not {}", info.name, sign,
                      quote(text));
    return std::nullopt;
  }
  if (info.range.contains(static_cast<double>(value))) return value;
  diagnostics.error(node.position(), "'{}' is {}; it must be {}", info.name, value,
                    info.range.text(Dimension::none));
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> read_signed(const Node& node, const ParameterInfo& info,
                                        Diagnostics& diagnostics) {
  return read_whole<std::int64_t>(node, info, diagnostics);
}

std::optional<std::uint64_t> read_unsigned(const Node& node, const ParameterInfo& info,
                                           Diagnostics& diagnostics) {
  return read_whole<std::uint64_t>(node, info, diagnostics);
}

bool within(const Node& node, double value, double largest, const ParameterInfo& info,
            Diagnostics& diagnostics) {
  if (!info.range.contains(value)) {
    diagnostics.error(node.position(), "'{}' is {}; it must be {}", info.name, quote(node.text()),
                      info.range.text(info.dimension));
    return false;
  }
  if (value > largest) {
    diagnostics.error(node.position(), "'{}' is {}; it must be at most {}", info.name,
                      quote(node.text()), format_quantity(largest, info.dimension));
    return false;
  }
  return true;
}

std::optional<double> read_quantity(const Node& node, const ParameterInfo& info,
                                    Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  std::string error;
  const auto value = parse_quantity(node.text(), info.dimension, error);
  if (!value) {
    diagnostics.error(node.position(), "'{}': {}", info.name, error);
    return std::nullopt;
  }
  const double largest = std::numeric_limits<double>::max();
  return within(node, *value, largest, info, diagnostics) ? value : std::nullopt;
}

std::optional<bool> read_flag(const Node& node, const ParameterInfo& info,
                              Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  if (node.text() == "true") return true;
  if (node.text() == "false") return false;
  diagnostics.error(node.position(), "'{}' must be true or false, not {}", info.name,
                    quote(node.text()));
  return std::nullopt;
}

std::optional<std::string> read_text(const Node& node, const ParameterInfo& info,
                                     Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  return node.text();
}

std::optional<std::size_t> read_choice(const Node& node, const ParameterInfo& info,
                                       Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  const auto found = std::find(info.choices.begin(), info.choices.end(), node.text());
  if (found != info.choices.end()) {
    return static_cast<std::size_t>(found - info.choices.begin());
  }
  diagnostics.error(node.position(), "'{}' cannot be {}; valid: {}{}", info.name,
                    quote(node.text()), join(info.choices), suggestion(node.text(), info.choices));
  return std::nullopt;
}

std::optional<MemoryBudget> read_budget(const Node& node, const ParameterInfo& info,
                                        Diagnostics& diagnostics) {
  if (!is_scalar(node, info, diagnostics)) return std::nullopt;
  std::string error;
  auto value = parse_memory_budget(node.text(), error);
  if (!value) diagnostics.error(node.position(), "'{}': {}", info.name, error);
  return value;
}

}  // namespace leanstream::config
