#include "engine/model/flash_image_header.h"

#include <algorithm>
#include <bit>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace leanstream::model::image {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMost = 1 << 24;  // of any size of a model: no product overflows
constexpr std::int64_t kMostLogicalBlock = 1 << 20;

Bytes rounded_up(Bytes value, Bytes unit) {
  return (value + unit - 1) / unit * unit;
}

// Values by "section.key".
class Reader {
 public:
  Reader(const std::string& path, std::string_view text)
      : path_(path), json_(Json::parse(text, nullptr, false)) {}

  std::int64_t integer(const char* section, const char* key, std::int64_t low,
                       std::int64_t high) const {
    const Json& value = at(section, key);
    if (!value.is_number_integer() || value < low || value > high) wrong(section, key, value);
    return value.get<std::int64_t>();
  }
  std::int32_t size(const char* section, const char* key, std::int64_t high = kMost) const {
    return static_cast<std::int32_t>(integer(section, key, 1, high));
  }
  std::string text(const char* section, const char* key) const {
    const Json& value = at(section, key);
    if (!value.is_string()) wrong(section, key, value);
    return value.get<std::string>();
  }
  bool flag(const char* section, const char* key) const {
    const Json& value = at(section, key);
    if (!value.is_boolean()) wrong(section, key, value);
    return value.get<bool>();
  }
  std::uint64_t word(const char* section, const char* key) const {
    const Json& value = at(section, key);
    if (!value.is_number_unsigned()) wrong(section, key, value);
    return value.get<std::uint64_t>();
  }
  [[noreturn]] void wrong(const char* section, const char* key, const Json& value) const {
    throw UserError("{}: the header's {}.{} cannot be {}", path_, section, key,
                    value.is_null() ? "missing" : value.dump());
  }

 private:
  const Json& at(const char* section, const char* key) const {
    static const Json missing;
    if (!json_.is_object() || !json_.contains(section)) return missing;
    const Json& map = json_[section];
    return map.is_object() && map.contains(key) ? map[key] : missing;
  }

  std::string path_;
  Json json_;
};

ModelShape read_shape(const Reader& json) {
  ModelShape shape;
  shape.name = json.text("model", "name");
  shape.layers = json.size("model", "layers");
  shape.hidden = json.size("model", "hidden");
  shape.ffn = json.size("model", "ffn");
  shape.heads = json.size("model", "heads");
  shape.kv_heads = json.size("model", "kv_heads");
  shape.vocab = json.size("model", "vocab");
  shape.tied_embeddings = json.flag("model", "tied_embeddings");
  return shape;
}

}  // namespace

Sections sections(const FlashImageInfo& info, std::size_t json_bytes) {
  Sections s;
  const auto neurons = static_cast<Bytes>(info.shape.layers) * static_cast<Bytes>(info.shape.ffn);
  s.orders = sizeof(Fixed) + json_bytes;
  s.checksums = rounded_up(s.orders + (info.orders.empty() ? 0 : neurons * sizeof(std::int32_t)),
                           sizeof(std::uint64_t));
  s.data = rounded_up(s.checksums + static_cast<Bytes>(info.blocks()) * sizeof(std::uint64_t),
                      std::max(kAlignment, info.logical_block_bytes));
  return s;
}

std::string to_json(const FlashImageInfo& info) {
  const ModelShape& m = info.shape;
  const StoredWeights& w = info.weights;
  const BlockGeometry& g = info.geometry;
  const Json json{
      {"model",
       {{"name", m.name},
        {"layers", m.layers},
        {"hidden", m.hidden},
        {"ffn", m.ffn},
        {"heads", m.heads},
        {"kv_heads", m.kv_heads},
        {"vocab", m.vocab},
        {"tied_embeddings", m.tied_embeddings}}},
      {"weights",
       {{"gate", w.gate},
        {"up", w.up},
        {"down", w.down},
        {"down_in_groups", w.down_in_groups},
        {"note", w.note}}},
      {"blocks",
       {{"block_neurons", g.block_neurons},
        {"useful_bytes", static_cast<Bytes>(g.useful_block_bytes)},
        {"block_bytes", g.block_bytes},
        {"logical_block_bytes", info.logical_block_bytes}}},
      {"placement",
       {{"policy", info.placement},
        {"source", info.placement_source},
        {"orders", !info.orders.empty()}}},
      {"source", {{"name", info.source}, {"hash", info.source_hash}, {"seed", info.seed}}},
      {"tool", {{"name", info.tool}}}};
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize(rounded_up(text.size(), 8), ' ');
  return text;
}

FlashImageInfo from_json(const std::string& path, std::string_view text) {
  const Reader json(path, text);
  FlashImageInfo info;
  info.shape = read_shape(json);
  info.weights = {json.text("weights", "gate"), json.text("weights", "up"),
                  json.text("weights", "down"), json.flag("weights", "down_in_groups"),
                  json.text("weights", "note")};
  const std::int32_t k = json.size("blocks", "block_neurons", info.shape.ffn);
  const auto useful = json.integer("blocks", "useful_bytes", 1, std::int64_t{kMostBlockBytes});
  const auto logical = json.integer("blocks", "logical_block_bytes", 512, kMostLogicalBlock);
  info.logical_block_bytes = static_cast<Bytes>(logical);
  if (!std::has_single_bit(info.logical_block_bytes)) {
    json.wrong("blocks", "logical_block_bytes", logical);
  }
  info.geometry =
      cut_into_blocks(info.shape.ffn, k, static_cast<double>(useful), info.logical_block_bytes);
  const auto padded = json.word("blocks", "block_bytes");
  if (padded != info.geometry.block_bytes) json.wrong("blocks", "block_bytes", padded);
  info.shape.bytes_per_weight = info.geometry.useful_block_bytes / (3.0 * info.shape.hidden * k);
  info.placement = json.text("placement", "policy");
  info.placement_source = json.text("placement", "source");
  if (json.flag("placement", "orders")) {
    info.orders.resize(static_cast<std::size_t>(info.shape.layers));
  }
  info.source = json.text("source", "name");
  info.source_hash = json.text("source", "hash");
  info.seed = json.word("source", "seed");
  info.tool = json.text("tool", "name");
  return info;
}

}  // namespace leanstream::model::image
