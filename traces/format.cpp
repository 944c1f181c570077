#include "traces/format.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace leanstream::traces {
namespace {

constexpr std::string_view kUnits =
    "importance: |silu(gate_j)*up_j| * ||down_j||_2 (levels[layer, code]); nll: nats; "
    "features: residual stream, unscaled";
constexpr std::string_view kKnobPrefix = "synthetic.";

// Reads single metadata entries and remembers what was wrong with them.
class EntryReader {
 public:
  EntryReader(const Metadata& metadata, std::vector<std::string>& problems)
      : metadata_(metadata), problems_(problems) {}

  std::string text(const std::string& key, bool required = true) {
    const auto at = metadata_.find(key);
    if (at != metadata_.end()) return at->second;
    if (required) problem("metadata '{}' is missing", key);
    return "";
  }

  template <typename T>
  T number(const std::string& key, T lowest, T highest, T otherwise, bool required = true) {
    const auto at = metadata_.find(key);
    if (at == metadata_.end() && !required) return otherwise;
    if (at == metadata_.end()) {
      problem("metadata '{}' is missing; it is a number {} … {}", key, lowest, highest);
      return otherwise;
    }
    T value{};
    const std::string& text = at->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool parsed = error == std::errc{} && end == text.data() + text.size();
    if (parsed && value >= lowest && value <= highest) return value;
    problem("metadata '{}' is '{:.40}'; it must be a number {} … {}", key, text, lowest, highest);
    return otherwise;
  }

  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const Metadata& metadata_;
  std::vector<std::string>& problems_;
};

void check_format(EntryReader& entries) {
  const std::string format = entries.text("format");
  if (!format.empty() && format != kFormatName) {
    entries.problem("metadata 'format' is '{:.40}'; a trace says '{}'", format, kFormatName);
  }
  const std::string version = entries.text("format_version");
  if (!version.empty() && version != std::to_string(kFormatVersion)) {
    entries.problem("metadata 'format_version' is '{:.40}'; this program reads version {}", version,
                    kFormatVersion);
  }
}

}  // namespace

std::string_view to_string(TraceKind kind) {
  return kind == TraceKind::kRecorded ? "recorded" : "synthetic";
}

Metadata to_metadata(const TraceInfo& info) {
  Metadata metadata = {
      {"format", std::string(kFormatName)},
      {"format_version", std::to_string(kFormatVersion)},
      {"kind", std::string(to_string(info.kind))},
      {"model.name", info.model.name},
      {"model.layers", std::to_string(info.model.layers)},
      {"model.hidden", std::to_string(info.model.hidden)},
      {"model.ffn", std::to_string(info.model.ffn)},
      {"model.hash", info.model.hash},
      {"source", info.source},
      {"upstream_density", fmt::format("{}", info.upstream_density)},
      {"recall_density", fmt::format("{}", info.recall_density)},
      {"error_persistence", fmt::format("{}", info.error_persistence)},
      {"units", std::string(kUnits)},
      {"tool", info.tool},
      {"command", info.command},
  };
  for (const auto& [name, value] : info.knobs) {
    metadata[std::string(kKnobPrefix) + name] = value;
  }
  return metadata;
}

TraceInfo from_metadata(const Metadata& metadata, std::vector<std::string>& problems) {
  EntryReader entries(metadata, problems);
  check_format(entries);
  TraceInfo info;
  const std::string kind = entries.text("kind");
  if (kind == to_string(TraceKind::kSynthetic)) {
    info.kind = TraceKind::kSynthetic;
  } else if (!kind.empty() && kind != to_string(TraceKind::kRecorded)) {
    entries.problem("metadata 'kind' is '{:.40}'; it is 'recorded' or 'synthetic'", kind);
  }
  constexpr std::int32_t kMost = 1 << 24;
  info.model.name = entries.text("model.name");
  info.model.layers = entries.number<std::int32_t>("model.layers", 1, kMost, 0);
  info.model.hidden = entries.number<std::int32_t>("model.hidden", 1, kMost, 0);
  info.model.ffn = entries.number<std::int32_t>("model.ffn", 1, kMost, 0);
  info.model.hash = entries.text("model.hash", false);
  info.source = entries.text("source");
  constexpr double kTiny = std::numeric_limits<double>::min();
  info.upstream_density = entries.number("upstream_density", kTiny, 1.0, 1.0);
  info.recall_density = entries.number("recall_density", 0.0, 1.0, 0.0);
  info.error_persistence = entries.number("error_persistence", 0.0, 0.99, 0.0, false);
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kKnobPrefix)) info.knobs[key.substr(kKnobPrefix.size())] = value;
  }
  entries.text("units");
  info.tool = entries.text("tool");
  info.command = entries.text("command", false);
  return info;
}

}  // namespace leanstream::traces
