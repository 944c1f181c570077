#include "engine/config/parameters.h"

#include <algorithm>
#include <map>

#include "engine/base/nearest.h"

namespace leanstream::config {

std::string Range::text(Dimension dimension) const {
  const auto spell = [dimension](double value) { return format_quantity(value, dimension); };
  if (std::isinf(minimum) && std::isinf(maximum)) return "";
  if (std::isinf(maximum)) return (above ? "above " : "at least ") + spell(minimum);
  if (std::isinf(minimum)) return "at most " + spell(maximum);
  if (above) return fmt::format("above {}, at most {}", spell(minimum), spell(maximum));
  return fmt::format("{} … {}", spell(minimum), spell(maximum));
}

std::string ParameterInfo::default_text() const {
  const Json& value = default_value;
  if (value.is_null() || type == Type::section) return "";
  if (type == Type::quantity && value.is_number()) {
    return format_quantity(value.get<double>(), dimension);
  }
  return plain_text(value);
}

namespace {

void add_rows(const std::vector<ParameterInfo>& parameters, const std::string& prefix, Json& rows) {
  for (const auto& p : parameters) {
    if (p.type == Type::section) {
      add_rows(p.children, prefix + p.name + ".", rows);
      continue;
    }
    rows.push_back({{"parameter", prefix + p.name},
                    {"type", p.type_name},
                    {"default", p.required ? "required" : p.default_text()},
                    {"range", p.range.text(p.dimension)},
                    {"help", p.help}});
  }
}

}  // namespace

Json parameter_rows(const std::vector<ParameterInfo>& parameters) {
  Json rows = Json::array();
  add_rows(parameters, "", rows);
  return rows;
}

namespace detail {

ParameterInfo info(std::string name, Type type, std::string type_name, std::string help) {
  ParameterInfo result;
  result.name = std::move(name);
  result.type = type;
  result.type_name = std::move(type_name);
  result.help = std::move(help);
  return result;
}

ParameterInfo quantity_info(std::string name, Dimension dimension, std::string help) {
  const auto type = dimension == Dimension::none ? Type::number : Type::quantity;
  auto result = info(std::move(name), type, std::string(noun(dimension)), std::move(help));
  result.dimension = dimension;
  if (dimension != Dimension::none && dimension != Dimension::temperature) {
    result.range.minimum = 0;
  }
  return result;
}

Json quantity_json(double value, const ParameterInfo& info) {
  if (info.dimension == Dimension::none || info.dimension == Dimension::ratio) return value;
  return format_quantity(value, info.dimension);
}

bool read_items(const Node& node, const ParameterInfo& info, Diagnostics& diagnostics,
                const std::function<bool(const Node&)>& item) {
  if (node.is_scalar()) return item(node);
  if (!node.is_sequence()) {
    diagnostics.error(node.position(), "'{}' must be {}, not {}", info.name, info.type_name,
                      node.describe());
    return false;
  }
  bool good = true;
  for (const auto& n : node.items()) {
    if (diagnostics.full()) return false;
    good = item(n) && good;
  }
  return good;
}

void check_keys(const Node& node, const std::vector<std::string>& names,
                const std::vector<std::string>& also, Diagnostics& diagnostics) {
  if (!node || node.is_null()) return;
  if (!node.is_map()) {
    diagnostics.error(node.position(), "a map of parameters is needed here, not {}",
                      node.describe());
    return;
  }
  std::map<std::string, Position> seen;
  for (const auto& entry : node.entries()) {
    if (diagnostics.full()) return;
    const auto [first, is_new] = seen.emplace(entry.key, entry.key_position);
    if (!is_new) {
      diagnostics.error(entry.key_position, "{} is given twice, first at {}", quote(entry.key),
                        first->second.text());
      continue;
    }
    const auto known = [&entry](const auto& list) {
      return std::find(list.begin(), list.end(), entry.key) != list.end();
    };
    if (known(names) || known(also)) continue;
    diagnostics.error(entry.key_position, "unknown parameter {}; valid: {}{}", quote(entry.key),
                      names.empty() ? "none" : join(names), suggestion(entry.key, names));
  }
}

void report_missing(const Node& parent, const ParameterInfo& info, Diagnostics& diagnostics) {
  std::vector<std::string> inside;
  for (const auto& child : info.children) inside.push_back(child.name);
  diagnostics.error(parent.position(), "'{}' is missing: {}{}{}, {}", info.name, info.type_name,
                    inside.empty() ? "" : " of ", join(inside), info.help);
}

}  // namespace detail
}  // namespace leanstream::config
