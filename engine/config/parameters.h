// A component declares its parameters once. YAML reading, `check`, `list`, `--help`, the JSON
// Schema and the resolved configuration come from that declaration:
//
//   struct StaticPlan { int omega_io = 4; TimeNs patience_ns = 1000; };
//   const Table<StaticPlan>& table() {
//     static const Table<StaticPlan> t{
//         integer("omega_io", &StaticPlan::omega_io, "I/O segments of a layer").range(1, 64),
//         quantity("patience", &StaticPlan::patience_ns, Dimension::time, "until it gives up")};
//     return t;
//   }
//
// The default of a parameter is the value in a default-constructed T. A member of type
// std::optional<M> is a parameter that may be absent.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/config/node.h"
#include "engine/config/parameter_info.h"
#include "engine/config/read_scalar.h"

namespace leanstream::config {

// One parameter of T. Made by the functions below, narrowed by the chained members.
template <typename T>
struct Parameter {
  ParameterInfo info;
  // Stores the value of a node, or reports what is wrong and leaves `object` alone.
  std::function<void(const Node&, const ParameterInfo&, T& object, Diagnostics&)> read;
  std::function<Json(const T&, const ParameterInfo&)> write;

  Parameter required() && { return info.required = true, std::move(*this); }
  // In base units, ends included.
  Parameter range(double minimum, double maximum) && {
    return info.range = {minimum, maximum, false}, std::move(*this);
  }
  Parameter at_least(double minimum) && {
    return info.range.minimum = minimum, info.range.above = false, std::move(*this);
  }
  Parameter above(double minimum) && {
    return info.range.minimum = minimum, info.range.above = true, std::move(*this);
  }
};

namespace detail {

template <typename M>
struct StoredIn {
  using type = M;
  static const M* get(const M& member) { return &member; }
};
template <typename M>
struct StoredIn<std::optional<M>> {
  using type = M;
  static const M* get(const std::optional<M>& member) { return member ? &*member : nullptr; }
};
// M, or what std::optional<M> holds.
template <typename M>
using Stored = typename StoredIn<M>::type;

// `parse`: (node, info, diagnostics) → optional<Stored<M>>; `print`: (value, info) → Json.
template <typename T, typename M, typename Parse, typename Print>
Parameter<T> parameter(ParameterInfo info, M T::*member, Parse parse, Print print) {
  info.optional = !std::same_as<M, Stored<M>>;
  return {std::move(info),
          [member, parse](const Node& node, const ParameterInfo& i, T& object, Diagnostics& d) {
            if (auto value = parse(node, i, d)) object.*member = std::move(*value);
          },
          [member, print](const T& object, const ParameterInfo& i) -> Json {
            const auto* value = StoredIn<M>::get(object.*member);
            return value ? print(*value, i) : Json(nullptr);
          }};
}

ParameterInfo info(std::string name, Type type, std::string type_name, std::string help);
ParameterInfo quantity_info(std::string name, Dimension dimension, std::string help);
Json quantity_json(double value, const ParameterInfo& info);
// Reports a node that is no list; else calls `item` for each item and says whether all were good.
bool read_items(const Node& node, const ParameterInfo& info, Diagnostics& diagnostics,
                const std::function<bool(const Node&)>& item);
// Reports whatever is no map, unknown keys and keys given twice. `also`: keys that others read.
void check_keys(const Node& node, const std::vector<std::string>& names,
                const std::vector<std::string>& also, Diagnostics& diagnostics);
void report_missing(const Node& parent, const ParameterInfo& info, Diagnostics& diagnostics);

}  // namespace detail

// A whole number.
template <typename T, typename M>
Parameter<T> integer(std::string name, M T::*member, std::string help) {
  using V = detail::Stored<M>;
  return detail::parameter(
      detail::info(std::move(name), Type::integer, "a whole number", std::move(help)), member,
      [](const Node& n, const ParameterInfo& i, Diagnostics& d) {
        return read_integer<V>(n, i, d);
      },
      [](const V& value, const ParameterInfo&) { return Json(value); });
}

// A quantity with a unit, stored in base units as double or rounded to a 64-bit integer.
// Negative values are refused unless the range allows them (temperatures may be negative).
template <typename T, typename M>
Parameter<T> quantity(std::string name, M T::*member, Dimension dimension, std::string help) {
  using V = detail::Stored<M>;
  return detail::parameter(
      detail::quantity_info(std::move(name), dimension, std::move(help)), member,
      [](const Node& n, const ParameterInfo& i, Diagnostics& d) -> std::optional<V> {
        const auto value = read_quantity(n, i, d);
        if constexpr (std::floating_point<V>) {
          return value;
        } else {
          const auto largest = static_cast<double>(std::numeric_limits<V>::max()) / 2;
          if (!value || !within(n, *value, largest, i, d)) return std::nullopt;
          return static_cast<V>(std::round(*value));
        }
      },
      [](const V& value, const ParameterInfo& i) {
        return detail::quantity_json(static_cast<double>(value), i);
      });
}

// A share: "25%" or 0.25, within 0 … 1 unless the range says otherwise.
template <typename T, typename M>
Parameter<T> ratio(std::string name, M T::*member, std::string help) {
  return quantity(std::move(name), member, Dimension::ratio, std::move(help)).range(0, 1);
}

// A bare number; any finite one unless the range says otherwise.
template <typename T, typename M>
Parameter<T> number(std::string name, M T::*member, std::string help) {
  return quantity(std::move(name), member, Dimension::none, std::move(help));
}

// One of some names.
template <typename T, typename M>
Parameter<T> choice(
    std::string name, M T::*member,
    std::vector<std::pair<std::string, std::type_identity_t<detail::Stored<M>>>> choices,
    std::string help) {
  auto info = detail::info(std::move(name), Type::choice, "one of ", std::move(help));
  for (const auto& [word, value] : choices) info.choices.push_back(word);
  info.type_name += join(info.choices);
  return detail::parameter(
      std::move(info), member,
      [choices](const Node& n, const ParameterInfo& i, Diagnostics& d) {
        const auto index = read_choice(n, i, d);
        return index ? std::optional(choices[*index].second) : std::nullopt;
      },
      [choices](const detail::Stored<M>& value, const ParameterInfo&) {
        for (const auto& [word, candidate] : choices) {
          if (candidate == value) return Json(word);
        }
        return Json(nullptr);
      });
}

template <typename T, typename M>
Parameter<T> text(std::string name, M T::*member, std::string help) {
  return detail::parameter(detail::info(std::move(name), Type::text, "a text", std::move(help)),
                           member, read_text,
                           [](const std::string& v, const ParameterInfo&) { return Json(v); });
}

// true or false.
template <typename T, typename M>
Parameter<T> flag(std::string name, M T::*member, std::string help) {
  return detail::parameter(
      detail::info(std::move(name), Type::flag, "true or false", std::move(help)), member,
      read_flag, [](const bool& v, const ParameterInfo&) { return Json(v); });
}

// "2.5 GB", "25% of mlp" or "20% of model".
template <typename T, typename M>
Parameter<T> budget(std::string name, M T::*member, std::string help) {
  return detail::parameter(detail::info(std::move(name), Type::budget,
                                        "a size, or a share of mlp or model", std::move(help)),
                           member, read_budget, [](const MemoryBudget& v, const ParameterInfo&) {
                             return Json(v.text());
                           });
}

// A list of numbers, integers, quantities or texts; the range holds for each item. A single value
// is a list of one.
template <typename T, typename M>
Parameter<T> list(std::string name, M T::*member, std::string help,
                  Dimension dimension = Dimension::none) {
  using V = typename detail::Stored<M>::value_type;
  constexpr bool kText = std::same_as<V, std::string>;
  constexpr Type kItem = kText ? Type::text : std::integral<V> ? Type::integer : Type::quantity;
  auto info = detail::info(std::move(name), Type::list,
                           kText              ? "a list of texts"
                           : std::integral<V> ? "a list of whole numbers"
                                              : "a list of numbers",
                           std::move(help));
  info.item = kItem;
  info.dimension = dimension;
  return detail::parameter(
      std::move(info), member,
      [](const Node& node, const ParameterInfo& i,
         Diagnostics& d) -> std::optional<detail::Stored<M>> {
        detail::Stored<M> values;
        const auto item = [&](const Node& n) {
          std::optional<V> value;
          if constexpr (kText) {
            value = read_text(n, i, d);
          } else if constexpr (std::integral<V>) {
            value = read_integer<V>(n, i, d);
          } else {
            value = read_quantity(n, i, d);
          }
          if (value) values.push_back(std::move(*value));
          return value.has_value();
        };
        if (!detail::read_items(node, i, d, item)) return std::nullopt;
        return values;
      },
      [](const detail::Stored<M>& values, const ParameterInfo& i) {
        Json array = Json::array();
        for (const auto& v : values) {
          if constexpr (std::floating_point<V>) {
            array.push_back(detail::quantity_json(v, i));
          } else {
            array.push_back(v);
          }
        }
        return array;
      });
}

// The parameters of one component.
template <typename T>
class Table {
 public:
  Table(std::initializer_list<Parameter<T>> parameters) : parameters_(parameters) {
    const T defaults{};
    for (auto& p : parameters_) {
      if (!p.info.required) p.info.default_value = p.write(defaults, p.info);
    }
  }

  // The value of a map. Reports all its errors (unknown keys and keys given twice too) and leaves
  // the default where a parameter is wrong; never throws. A missing or null node is an empty map.
  // `also` names keys of the map that somebody else reads, like "kind".
  T read(const Node& node, Diagnostics& diagnostics, const std::vector<std::string>& also = {},
         T object = {}) const {
    detail::check_keys(node, names(), also, diagnostics);
    for (const auto& p : parameters_) {
      const Node value = node[p.info.name];
      const bool absent = !value || (value.is_null() && p.info.type == Type::section);
      if (value.is_null() && p.info.optional) continue;
      if (!absent) {
        p.read(value, p.info, object, diagnostics);
      } else if (p.info.required) {
        detail::report_missing(node, p.info, diagnostics);
      }
    }
    return object;
  }

  std::vector<ParameterInfo> describe() const {
    std::vector<ParameterInfo> infos;
    for (const auto& p : parameters_) infos.push_back(p.info);
    return infos;
  }

  // Every parameter under its name, as a user would write it: "48 KiB", "92 us", 4, "lru".
  Json write(const T& object) const {
    Json json = Json::object();
    for (const auto& p : parameters_) json[p.info.name] = p.write(object, p.info);
    return json;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& p : parameters_) all.push_back(p.info.name);
    return all;
  }

 private:
  std::vector<Parameter<T>> parameters_;
};

// A map of its own inside the component's. `table` must outlive the parameter. It is required when
// one of its parameters is, unless it is optional.
template <typename T, typename M>
Parameter<T> section(std::string name, M T::*member, const Table<detail::Stored<M>>& table,
                     std::string help) {
  auto info = detail::info(std::move(name), Type::section, "a map", std::move(help));
  info.children = table.describe();
  info.optional = !std::same_as<M, detail::Stored<M>>;
  info.required = !info.optional && std::any_of(info.children.begin(), info.children.end(),
                                                [](const auto& p) { return p.required; });
  return {std::move(info),
          [member, &table](const Node& n, const ParameterInfo&, T& object, Diagnostics& d) {
            const auto* present = detail::StoredIn<M>::get(object.*member);
            object.*member = table.read(n, d, {}, present ? *present : detail::Stored<M>{});
          },
          [member, &table](const T& object, const ParameterInfo&) -> Json {
            const auto* value = detail::StoredIn<M>::get(object.*member);
            return value ? table.write(*value) : Json(nullptr);
          }};
}

// A parameter with a syntax of its own. `parse`: (node, info, diagnostics) → optional<M>;
// `print`: (value) → Json.
template <typename T, typename M, typename Parse, typename Print>
Parameter<T> custom(std::string name, M T::*member, std::string type_name, Parse parse, Print print,
                    std::string help) {
  return detail::parameter(
      detail::info(std::move(name), Type::custom, std::move(type_name), std::move(help)), member,
      parse, [print](const detail::Stored<M>& v, const ParameterInfo&) { return Json(print(v)); });
}

}  // namespace leanstream::config
