// What was run: every parameter, the sources of the platform's figures, versions and hashes.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

// Sources that no measurement or document backs.
constexpr std::array unbacked = {"assumed", "fitted"};

std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "–";
  return value.dump();
}

// Nested objects become dotted names; lists of plain values stay in one cell.
void flatten(const Json& value, const std::string& name, Rows& rows) {
  const bool nested_list =
      value.is_array() && std::any_of(value.begin(), value.end(),
                                      [](const Json& item) { return item.is_structured(); });
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) {
      flatten(item, name.empty() ? key : name + "." + key, rows);
    }
  } else if (nested_list) {
    std::size_t index = 0;
    for (const Json& item : value) flatten(item, fmt::format("{}[{}]", name, index++), rows);
  } else {
    rows.push_back({escape(name), escape(plain(value))});
  }
}

bool is_unbacked(const std::string& source) {
  return std::any_of(unbacked.begin(), unbacked.end(),
                     [&](const char* word) { return source.starts_with(word); });
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? "–" : plain(*found);
}

std::string platform_table(const Json& platform) {
  const auto provenance = platform.find("provenance");
  if (provenance == platform.end() || !provenance->is_array()) return "";
  HtmlTable table;
  table.header = {"parameter", "value", "source", "reference"};
  table.css_class = "pairs";
  std::size_t marked = 0;
  for (const Json& one : *provenance) {
    if (!one.is_object()) continue;
    const std::string source = text_of(one, "source");
    const bool mark = is_unbacked(source);
    if (mark) ++marked;
    table.rows.push_back(
        {escape(text_of(one, "name")), escape(text_of(one, "value")),
         fmt::format("<span class=\"source{}\">{}</span>", mark ? " weak" : "", escape(source)),
         escape(text_of(one, "reference"))});
  }
  table.caption =
      fmt::format("Platform {}: where its figures come from", text_of(platform, "name"));
  return fmt::format(
             "<p>{} of {} figures of platform {} are <span class=\"source weak\">assumed"
             "</span> or <span class=\"source weak\">fitted</span>: no measurement or "
             "document gives them.</p>\n",
             marked, table.rows.size(), escape(text_of(platform, "name"))) +
         to_html(table);
}

std::string platform_tables(const Json& manifest) {
  const auto platform = manifest.find("platform");
  if (platform == manifest.end()) return "";
  if (platform->is_object()) return platform_table(*platform);
  std::string out;
  if (platform->is_array()) {
    for (const Json& one : *platform) {
      if (one.is_object()) out += platform_table(one);
    }
  }
  return out;
}

// All of the manifest but what has a table of its own.
Rows facts(const Json& manifest) {
  Rows rows;
  constexpr std::array first = {"name",  "command", "version", "commit",
                                "dirty", "created", "backend", "seed"};
  constexpr std::array apart = {"configuration", "notes"};
  for (const char* key : first) {
    if (manifest.contains(key)) flatten(manifest[key], key, rows);
  }
  const auto has = [](const auto& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const auto& [key, value] : manifest.items()) {
    if (has(first, key) || has(apart, key)) continue;
    // A sweep over one trace names it twice.
    if (key == "traces" && value.size() == 1 && manifest.contains("trace")) continue;
    Json shown = value;
    if (shown.is_object()) shown.erase("provenance");
    if (shown.is_array()) {
      for (Json& one : shown) {
        if (one.is_object()) one.erase("provenance");
      }
    }
    flatten(shown, key, rows);
  }
  return rows;
}

std::string timing_table(const CsvTable& timing) {
  HtmlTable table;
  table.caption = "Wall-clock figures of the run itself (timing.csv)";
  for (const std::string& column : timing.header) table.header.push_back(escape(column));
  for (const auto& row : timing.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(escape(cell));
    table.rows.push_back(std::move(cells));
  }
  return folded("Wall-clock figures", to_html(table));
}

}  // namespace

std::string configuration_section(const Results& results) {
  const Json& manifest = results.manifest;
  std::string body;
  if (manifest.empty()) {
    body =
        "<p class=\"note\">There is no manifest.json beside results.csv: what was run is "
        "unknown.</p>\n";
  } else {
    HtmlTable run{"The run", {"what", "value"}, facts(manifest), "pairs"};
    body += to_html(run);
    if (manifest.contains("configuration")) {
      HtmlTable parameters{
          "Every parameter as resolved, defaults included", {"parameter", "value"}, {}, "pairs"};
      flatten(manifest["configuration"], "", parameters.rows);
      body += folded(fmt::format("All {} parameters", parameters.rows.size()), to_html(parameters));
    }
    body += platform_tables(manifest);
  }
  if (results.timing) body += timing_table(*results.timing);
  return section("configuration", "What was run",
                 "Enough to repeat it: command, version, seed, hashes and every parameter.", body);
}

}  // namespace leanstream::report
