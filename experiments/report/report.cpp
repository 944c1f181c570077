#include "experiments/report/report.h"

#include <filesystem>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

struct Entry {
  const char* id;
  const char* title;
  std::string (*section)(const Results&);
};
constexpr Entry report_entries[] = {
    {"headline", "Speed", headline_section}, {"speed", "Budget", speed_section},
    {"time", "Time", time_section},          {"misses", "Misses", miss_section},
    {"traffic", "Bytes", traffic_section},   {"quality", "Quality", quality_section},
    {"energy", "Energy", energy_section},    {"configuration", "Run", configuration_section},
};

std::string manifest_text(const Results& results, const char* key, const char* otherwise) {
  const auto found = results.manifest.find(key);
  if (found == results.manifest.end()) return otherwise;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("name") && (*found)["name"].is_string()) {
    return (*found)["name"].get<std::string>();
  }
  return found->is_primitive() ? found->dump() : otherwise;
}

std::string badges(const Results& results) {
  const std::string kind = results.trace_kind();
  const std::string origin = results.origin();
  const bool weak = kind != "recorded" && kind != "live";
  return fmt::format("<span class=\"badge{}\">{}</span>", weak ? " weak" : "", escape(origin));
}

std::string plural(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string page_header(const Results& results, const std::string& name) {
  std::size_t budgets = 0;
  for (const Facet& facet : results.facets) budgets = std::max(budgets, facet.budgets_bytes.size());
  std::string line =
      fmt::format("{} at {}, {}", plural(results.systems.size(), "system"),
                  plural(budgets, "memory budget"), plural(results.table.rows.size(), "run"));
  for (const char* key : {"model", "platform"}) {
    const std::string value = manifest_text(results, key, "");
    if (!value.empty()) line += fmt::format(" · {} {}", key, value);
  }
  return fmt::format("<header><div><h1>{}</h1><p>{}</p></div></header>\n", escape(name),
                     escape(line));
}

std::string notes(const Results& results) {
  const auto found = results.manifest.find("notes");
  if (found == results.manifest.end() || !found->is_array() || found->empty()) return "";
  std::string out = "<aside class=\"notes\"><b>Read this first</b><ul>";
  for (const auto& note : *found) {
    out += "<li>" + escape(note.is_string() ? note.get<std::string>() : note.dump()) + "</li>";
  }
  return out + "</ul></aside>\n";
}

}  // namespace

std::string report_html(const Results& results) {
  const std::string name = manifest_text(results, "name", "LeanStream results");
  std::string links;
  std::string body;
  for (const Entry& entry : report_entries) {
    const std::string section = entry.section(results);
    if (section.empty()) continue;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>", entry.id, entry.title);
    body += section;
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} – LeanStream</title><style>{}</style></head>\n<body>\n{}"
      "<nav><ul>{}<li class=\"badges\">{}</li></ul></nav>\n<main>\n{}{}"
      "<footer>LeanStream {} · every figure is in results.csv beside this page; an empty cell "
      "there and – here mean unknown.</footer>\n</main></body></html>\n",
      escape(name), style_sheet(), page_header(results, name), links, badges(results),
      notes(results), body, escape(manifest_text(results, "version", "")));
}

std::string write_report(const Results& results, const std::string& path) {
  const std::string target =
      path.empty() ? (std::filesystem::path(results.folder) / "report.html").string() : path;
  write_file(target, report_html(results));
  return target;
}

}  // namespace leanstream::report
