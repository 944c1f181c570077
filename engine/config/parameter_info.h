// What is known of a parameter without its C++ type: for `list`, `--help`, the JSON Schema and the
// documentation tables.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/config/units.h"

namespace leanstream::config {

// Resolved values in the order of their declaration.
using Json = nlohmann::ordered_json;

// A text without its quotes, anything else as JSON.
inline std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

enum class Type { integer, number, quantity, choice, text, flag, list, budget, section, custom };

// Allowed values, ends included unless `above` (then the minimum itself is not allowed).
struct Range {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool above = false;

  bool contains(double value) const {
    return (above ? value > minimum : value >= minimum) && value <= maximum;
  }
  // "1 … 64", "at least 0", "above 0 B/s", or "" when everything is allowed.
  std::string text(Dimension dimension) const;
};

struct ParameterInfo {
  std::string name;
  Type type = Type::custom;
  std::string type_name;  // "a time", "a whole number", "one of a, b", "a list of numbers"
  Dimension dimension = Dimension::none;
  Range range;
  bool required = false;
  bool optional = false;  // may be absent: std::optional in C++
  std::string help;
  std::vector<std::string> choices;
  Type item = Type::custom;             // what a list holds
  std::vector<ParameterInfo> children;  // of a section
  Json default_value;                   // null when required or optional without one

  // The default as a user would write it, or "".
  std::string default_text() const;
};

// One row for each parameter, sections under dotted names: parameter, type, default ("required"
// when there is none), range, help. For `list`, `--help` and the documentation.
Json parameter_rows(const std::vector<ParameterInfo>& parameters);

}  // namespace leanstream::config
