// Policies by name. A policy is one file that ends with one registration line; from the parameter
// table it names come YAML reading, `check`, `list` and the resolved configuration.
//
//   system:  cache: {policy: window, tokens: 5}
//   C++:     LEANSTREAM_CACHE_POLICY(Window, "window", "the neurons of the last tokens")
//
// A policy class has a nested `struct Parameters`, a static `const config::Table<Parameters>&
// table()`, and a constructor (const Context&, const Parameters&).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/nearest.h"
#include "engine/config/node.h"
#include "engine/config/parameters.h"

namespace leanstream::policy {

// For policies without parameters.
struct NoParameters {
  static const config::Table<NoParameters>& table() {
    static const config::Table<NoParameters> empty{};
    return empty;
  }
};

// `Kind` is a policy interface with a nested `struct Context` (what its policies are made from)
// and a static `kKind`, the word for messages and for the YAML key.
template <typename Kind>
class Registry {
 public:
  using Context = typename Kind::Context;
  using Make = std::function<std::unique_ptr<Kind>(const Context&)>;

  // A policy as a system file chose it: checked, resolved, ready to be made for any run.
  struct Choice {
    std::string name;
    config::Json resolved;  // every parameter with its value, the name under "policy" first
    Make make;
  };

  struct Entry {
    std::string help;
    std::vector<config::ParameterInfo> parameters;
    std::function<Choice(const config::Node&, config::Diagnostics&)> choose;
  };

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  template <typename Policy>
  bool add(const std::string& name, const std::string& help) {
    const auto& table = Policy::table();
    auto choose = [&table, name](const config::Node& node, config::Diagnostics& diagnostics) {
      const auto parameters = table.read(node.without("policy"), diagnostics);
      config::Json resolved{{"policy", name}};
      resolved.update(table.write(parameters));
      return Choice{name, resolved, [parameters](const Context& context) {
                      return std::unique_ptr<Kind>(std::make_unique<Policy>(context, parameters));
                    }};
    };
    const bool added = entries_.emplace(name, Entry{help, table.describe(), choose}).second;
    LEANSTREAM_CHECK(added, "two {} policies are named '{}'", Kind::kKind, name);
    return added;
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

  // Reads `lru` or `{policy: window, tokens: 5}`. What is wrong goes to `diagnostics`, and then the
  // choice has no maker.
  Choice choose(const config::Node& node, config::Diagnostics& diagnostics) const {
    const config::Node name = node.is_map() ? node["policy"] : node;
    if (!name.is_scalar()) {
      diagnostics.error(node.position(), "a {} policy is a name or a map with 'policy', not {}",
                        Kind::kKind, node.describe());
      return {};
    }
    const auto found = entries_.find(name.text());
    if (found == entries_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, entry] : entries_) names.push_back(known);
      diagnostics.error(name.position(), "unknown {} policy {}; there are: {}{}", Kind::kKind,
                        config::quote(name.text()), config::join(names),
                        suggestion(name.text(), names));
      return {};
    }
    return found->second.choose(node.is_map() ? node : config::Node::map(node.position()),
                                diagnostics);
  }

 private:
  std::map<std::string, Entry> entries_;
};

inline constexpr const char* kPolicyType = "a policy, or a map with its parameters";

// A policy of that kind as a parameter of T, under the kind's word.
template <typename Kind, typename T>
config::Parameter<T> parameter(typename Registry<Kind>::Choice T::*member, std::string help) {
  using Choice = typename Registry<Kind>::Choice;
  return config::custom<T>(
      Kind::kKind, member, kPolicyType,
      [](const config::Node& node, const config::ParameterInfo&, config::Diagnostics& diagnostics)
          -> std::optional<Choice> { return Registry<Kind>::instance().choose(node, diagnostics); },
      [](const Choice& choice) { return choice.resolved; }, std::move(help));
}

}  // namespace leanstream::policy

// One line at the end of a policy's file.
#define LEANSTREAM_POLICY(Kind, Policy, name, help)                             \
  namespace {                                                                   \
  const bool registered_##Policy =                                              \
      ::leanstream::policy::Registry<Kind>::instance().add<Policy>(name, help); \
  }
