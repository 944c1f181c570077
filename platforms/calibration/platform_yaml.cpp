#include "platforms/calibration/platform_yaml.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace leanstream::calibration {
namespace {

using platform::Provenance;
using platform::Source;

// In quotes, whatever it holds: JSON's are YAML's.
std::string quoted(const std::string& text) {
  return config::Json(text).dump();
}

// Figures of one section follow each other.
std::string sections(const std::vector<Provenance>& figures) {
  std::string text;
  std::vector<std::string> open;
  for (const Provenance& figure : figures) {
    std::vector<std::string> path;
    for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
      to = figure.name.find('.', from);
      path.push_back(figure.name.substr(from, to - from));
    }
    std::size_t depth = 0;
    while (depth + 1 < path.size() && depth < open.size() && open[depth] == path[depth]) ++depth;
    open.resize(depth);
    for (; depth + 1 < path.size(); ++depth) {
      text += fmt::format("{:{}}{}:\n", "", 2 * depth, path[depth]);
      open.push_back(path[depth]);
    }
    text += fmt::format(
        "{0:{1}}{2}:\n{0:{1}}  value: {3}\n{0:{1}}  source: {4}\n{0:{1}}  reference: {5}\n", "",
        2 * depth, path.back(), figure.value, word(figure.source), quoted(figure.reference));
  }
  return text;
}

}  // namespace

std::string file_text(const std::string& description, const std::vector<Provenance>& figures,
                      const std::optional<platform::Calibration>& calibration) {
  std::string text =
      fmt::format("kind: platform\ndescription: {}\n{}", quoted(description), sections(figures));
  if (!calibration) return text;
  platform::Platform holder;
  holder.calibration = calibration;
  text += fmt::format("{}:\n", platform::kCalibration);
  const auto values = platform::table().write(holder).at(platform::kCalibration);
  for (const auto& [key, value] : values.items()) {
    text += fmt::format("  {}: {}\n", key, value.dump());
  }
  return text;
}

std::vector<Provenance> flash_figures(const Fit& fit, const Summary& summary,
                                      const std::string& table) {
  const auto values = platform::flash_section(fit.flash);
  const std::string fitted_to = fmt::format(
      "fitted to the {} random reads of {} (median error of the rates {:.1f} %, worst {:.1f} %)",
      summary.cells, table, 100 * summary.rate.median, 100 * summary.rate.worst);
  std::vector<Provenance> figures;
  const auto add = [&](const char* name, Source source, std::string reference) {
    figures.push_back({std::string("flash.") + name, config::plain_text(values.at(name)), source,
                       std::move(reference)});
  };
  for (const char* name :
       {"bandwidth", "stream_bandwidth", "latency", "request_overhead", "span", "batch"}) {
    add(name, Source::fitted, fitted_to);
  }
  if (fit.spread_known) {
    add("spread", Source::fitted, "median of log(p99 / p50) / 2.326 of " + table);
  } else {
    add("spread", Source::assumed,
        table + " has no latencies; near the 0.24 of platforms/measured/vm_disk.csv");
  }
  if (fit.host_known) {
    add("requests", Source::fitted, "1 / the least processor time of a read in " + table);
  }
  return figures;
}

std::string platform_text(const Fit& fit, const Summary& summary, const std::string& table,
                          const platform::LoadedPlatform& base) {
  const auto values = platform::flash_section(fit.flash);
  std::vector<Provenance> figures = flash_figures(fit, summary, table);
  std::set<std::string> known;
  for (const Provenance& figure : figures) known.insert(figure.name);
  for (const auto& p : base.provenance) {
    if (known.contains(p.name)) continue;
    const bool flash = p.name.starts_with("flash.");
    const std::string value = flash ? config::plain_text(values.at(p.name.substr(6))) : p.value;
    const std::string reference =
        value == p.value
            ? fmt::format("as {} ({}: {})", base.platform.name, word(p.source), p.reference)
            : fmt::format("no less than what {} shows", table);
    figures.push_back({p.name, value, Source::assumed, reference});
  }
  std::stable_partition(figures.begin(), figures.end(),
                        [](const Provenance& figure) { return figure.name.starts_with("flash."); });
  return file_text(fmt::format("flash of {}, all else as {}", table, base.platform.name), figures);
}

}  // namespace leanstream::calibration
