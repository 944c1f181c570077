#include "engine/platform/platform_file.h"

#include <bit>
#include <map>

#include "engine/config/find_file.h"

namespace leanstream::platform {
namespace {

using config::Diagnostics;
using config::Document;
using config::Entry;
using config::Node;
using config::ParameterInfo;

struct Origin {
  Source source = Source::assumed;
  std::string reference;
};

const config::Table<Origin>& origin_table() {
  static const config::Table<Origin> t{
      config::choice("source", &Origin::source,
                     {{"measured", Source::measured},
                      {"datasheet", Source::datasheet},
                      {"paper", Source::paper},
                      {"fitted", Source::fitted},
                      {"assumed", Source::assumed}},
                     "how the figure is known")
          .required(),
      config::text("reference", &Origin::reference, "where it is from, or why it was chosen")
          .required()};
  return t;
}

// Separates values from provenance, along the description of the parameters.
class Splitter {
 public:
  explicit Splitter(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // The map with plain values; what is no {value, source, reference} is reported.
  Node split(const Node& map, const std::vector<ParameterInfo>& infos, const std::string& prefix) {
    if (!map.is_map()) return map;
    std::vector<Entry> entries = map.entries();
    for (auto& entry : entries) {
      for (const auto& info : infos) {
        if (info.name == entry.key) entry.value = split_value(entry.value, info, prefix);
      }
    }
    return Node::map(map.position(), std::move(entries));
  }

  // The source and reference of a parameter that split() has passed; null: the file leaves it out.
  const Origin* origin(const std::string& name) const {
    const auto found = origins_.find(name);
    return found == origins_.end() ? nullptr : &found->second;
  }

 private:
  Node split_value(const Node& node, const ParameterInfo& info, const std::string& prefix) {
    const std::string name = prefix + info.name;
    if (name == kCalibration) return node;
    if (info.type == config::Type::section) return split(node, info.children, name + ".");
    if (info.type == config::Type::text) return node;
    if (!node.is_map()) {
      diagnostics_.error(node.position(),
                         "'{}' must be {{value: …, source: …, reference: …}}, not {}", name,
                         node.describe());
      return node;
    }
    const Origin origin = origin_table().read(node, diagnostics_, {"value"});
    if (node["reference"].is_scalar() && origin.reference.empty()) {
      diagnostics_.error(node["reference"].position(), "the reference of '{}' is empty", name);
    }
    origins_.emplace(name, origin);
    const Node value = node["value"];
    return value ? value : Node::null(node.position());
  }

  Diagnostics& diagnostics_;
  std::map<std::string, Origin> origins_;
};

// The file's tree with an experiment's plain values put in, each with its provenance.
Node apply(const Node& root, const Node& changes, const std::string& prefix,
           Diagnostics& diagnostics) {
  Node changed = root;
  for (const auto& entry : changes.entries()) {
    const std::string name = prefix + entry.key;
    if (entry.value.is_map()) {
      changed = apply(changed, entry.value, name + ".", diagnostics);
      continue;
    }
    const auto& at = entry.value.position();
    const Node origin =
        Node::map(at, {{"value", at, entry.value},
                       {"source", at, Node::scalar(at, "assumed")},
                       {"reference", at, Node::scalar(at, "changed at " + at.text())}});
    changed = changed.with(name, origin, diagnostics);
  }
  return changed;
}

void collect(const config::Json& values, const std::vector<ParameterInfo>& infos,
             const std::string& prefix, const Splitter& splitter, std::vector<Provenance>& out) {
  for (const auto& info : infos) {
    const auto& value = values.at(info.name);
    if (value.is_null()) continue;  // optional, and not stated
    if (info.type == config::Type::section) {
      collect(value, info.children, prefix + info.name + ".", splitter, out);
    } else if (info.type != config::Type::text) {
      const std::string name = prefix + info.name;
      const Origin* const origin = splitter.origin(name);
      if (origin == nullptr) continue;  // left at a default that changes nothing
      out.push_back({name, config::plain_text(value), origin->source, origin->reference});
    }
  }
}

// Energy follows from what the units do, heat from their power.
void check_power(const Platform& p, const Node& values, Diagnostics& diagnostics) {
  const auto needs = [&](const char* section, const char* what) {
    diagnostics.error(values[section].position(), "'{}' needs {}", section, what);
  };
  if (p.energy && !p.cpu.read_request_ns) {
    needs("energy", "'cpu.read_request', the processor time of a read");
  }
  if (!p.thermal) return;
  if (!p.energy) needs("thermal", "the section 'energy'");
  for (const auto& [name, unit] :
       {std::pair{"accelerator", &p.thermal->accelerator}, std::pair{"cpu", &p.thermal->cpu},
        std::pair{"flash", &p.thermal->flash}}) {
    if (unit->limit_c - unit->hysteresis_k > p.thermal->ambient_c) continue;
    diagnostics.error(values["thermal"][name].position(),
                      "'thermal.{}': its limit less its hysteresis must be above the ambient",
                      name);
  }
}

// What no single parameter can tell.
void check_consistency(const Platform& p, const Node& values, Diagnostics& diagnostics) {
  const auto at_most = [&](double value, const char* section, const char* name, double limit,
                           const char* limit_name) {
    if (value <= limit) return;
    diagnostics.error(values[section][name].position(), "'{}.{}' must be at most {}, {}", section,
                      name, limit_name,
                      config::format_quantity(limit, config::Dimension::bandwidth));
  };
  at_most(p.flash.stream_bandwidth_bytes_per_s, "flash", "stream_bandwidth",
          p.flash.bandwidth_bytes_per_s, "flash.bandwidth");
  at_most(p.flash.bandwidth_bytes_per_s, "flash", "bandwidth", p.flash.link_bandwidth_bytes_per_s,
          "flash.link_bandwidth");
  at_most(p.accelerator.bandwidth_bytes_per_s, "accelerator", "bandwidth",
          p.memory.bandwidth_bytes_per_s, "memory.bandwidth");
  at_most(p.accelerator.mlp_bandwidth_bytes_per_s, "accelerator", "mlp_bandwidth",
          p.memory.bandwidth_bytes_per_s, "memory.bandwidth");
  at_most(p.cpu.bandwidth_bytes_per_s, "cpu", "bandwidth", p.memory.bandwidth_bytes_per_s,
          "memory.bandwidth");
  if (!std::has_single_bit(p.flash.logical_block_bytes)) {
    diagnostics.error(values["flash"]["logical_block"].position(),
                      "'flash.logical_block' must be a power of two");
  }
  check_power(p, values, diagnostics);
}

}  // namespace

std::string word(Source source) {
  return origin_table().write({source, ""})["source"].get<std::string>();
}

std::vector<std::string> LoadedPlatform::assumed() const {
  std::vector<std::string> names;
  for (const auto& p : provenance) {
    if (p.source == Source::assumed) names.push_back(p.name);
  }
  return names;
}

config::Json flash_section(const Flash& flash) {
  Platform holder;
  holder.flash = flash;
  return table().write(holder).at("flash");
}

LoadedPlatform read_platform(const Document& document, const Node& changes,
                             Diagnostics& diagnostics) {
  const auto errors_before = diagnostics.count();
  const auto infos = table().describe();
  LoadedPlatform loaded{{}, {}, document.path, document.hash};
  if (!config::check_kind(document, "platform", diagnostics)) return loaded;
  Splitter splitter(diagnostics);
  const Node root = apply(document.root, changes, "", diagnostics);
  const Node values = splitter.split(root, infos, "");
  loaded.platform = table().read(values, diagnostics, {"kind"});
  loaded.platform.name = config::name_of(document.path);
  if (diagnostics.count() > errors_before) return loaded;
  check_consistency(loaded.platform, values, diagnostics);
  collect(table().write(loaded.platform), infos, "", splitter, loaded.provenance);
  return loaded;
}

LoadedPlatform load_platform(const std::string& name_or_path, const Node& changes) {
  Diagnostics diagnostics;
  const auto path = config::find_file(config::FileKind::platform, name_or_path);
  const auto document = config::load_document(path, diagnostics);
  auto loaded = read_platform(document, changes, diagnostics);
  diagnostics.throw_if_any();
  return loaded;
}

}  // namespace leanstream::platform
