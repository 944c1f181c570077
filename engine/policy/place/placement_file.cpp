#include "engine/policy/place/placement_file.h"

#include <array>
#include <charconv>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/model/permutation.h"
#include "engine/model/safetensors.h"

namespace leanstream::policy {
namespace {

constexpr const char* kFormat = "leanstream-placement";
constexpr const char* kVersion = "1";
constexpr std::string_view kParameter = "parameter.";
constexpr std::int32_t kMostSize = 1 << 24;

class Metadata {
 public:
  explicit Metadata(const model::SafetensorsReader& reader) : reader_(reader) {}

  const std::string& text(const std::string& key) const { return reader_.metadata(key); }

  template <typename T>
  T number(const std::string& key, T low, T high) const {
    const std::string& value = text(key);
    T out{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (error == std::errc() && end == value.data() + value.size() && out >= low && out <= high) {
      return out;
    }
    throw UserError("{}: {} is '{}', not a number in {} … {}", reader_.path(), key, value, low,
                    high);
  }

 private:
  const model::SafetensorsReader& reader_;
};

void check_format(const model::SafetensorsReader& reader) {
  const auto format = reader.metadata().find("format");
  if (format == reader.metadata().end() || format->second != kFormat) {
    throw UserError("{}: no placement; `leanstream train placement` writes them", reader.path());
  }
  if (reader.metadata("format_version") != kVersion) {
    throw UserError("{}: a placement of version {}; this program reads version {}", reader.path(),
                    reader.metadata("format_version"), kVersion);
  }
}

}  // namespace

void write_placement(const std::string& path, const LearnedPlacement& p) {
  std::map<std::string, std::string> metadata{{"format", kFormat},
                                              {"format_version", kVersion},
                                              {"model.name", p.model},
                                              {"model.hash", p.model_hash},
                                              {"model.layers", std::to_string(p.layers)},
                                              {"model.ffn", std::to_string(p.ffn)},
                                              {"policy", p.policy},
                                              {"density", fmt::format("{}", p.density)},
                                              {"block_neurons", std::to_string(p.block_neurons)},
                                              {"tokens", std::to_string(p.tokens)},
                                              {"seed", std::to_string(p.seed)},
                                              {"traces", p.traces},
                                              {"tool", p.tool},
                                              {"command", p.command}};
  for (const auto& [name, value] : p.parameters) metadata[std::string(kParameter) + name] = value;
  model::SafetensorsWriter writer(path, {{"order", model::Dtype::kI32, {p.layers, p.ffn}}},
                                  metadata);
  for (const auto& order : p.orders) {
    writer.append<std::int32_t>("order", std::span<const std::int32_t>(order));
  }
  writer.commit();
}

LearnedPlacement read_placement(const std::string& path) {
  const model::SafetensorsReader reader(path);
  check_format(reader);
  const Metadata metadata(reader);
  LearnedPlacement p;
  p.model = metadata.text("model.name");
  p.model_hash = metadata.text("model.hash");
  p.layers = metadata.number<LayerId>("model.layers", 1, kMostSize);
  p.ffn = metadata.number<std::int32_t>("model.ffn", 1, kMostSize);
  p.policy = metadata.text("policy");
  p.density = metadata.number<double>("density", 0, 1);
  p.block_neurons = metadata.number<std::int32_t>("block_neurons", 0, p.ffn);
  p.tokens = metadata.number<TokenId>("tokens", 1, kMostSize);
  p.seed = metadata.number<std::uint64_t>("seed", 0, ~std::uint64_t{0});
  p.traces = metadata.text("traces");
  p.tool = metadata.text("tool");
  p.command = metadata.text("command");
  for (const auto& [name, value] : reader.metadata()) {
    if (name.starts_with(kParameter)) p.parameters[name.substr(kParameter.size())] = value;
  }
  const std::array<std::int64_t, 2> shape{p.layers, p.ffn};
  const model::TensorInfo& tensor = reader.require("order", model::Dtype::kI32, shape);
  for (LayerId l = 0; l < p.layers; ++l) {
    auto& order = p.orders.emplace_back(static_cast<std::size_t>(p.ffn));
    reader.read<std::int32_t>(tensor, std::int64_t{l} * p.ffn, order);
    model::check_permutation(path, l, order);
  }
  return p;
}

}  // namespace leanstream::policy
