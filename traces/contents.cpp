#include "traces/contents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "engine/model/activations.h"

namespace leanstream::traces {
namespace {

using model::Dtype;
using Problems = std::vector<std::string>;

const std::vector<std::string>& tensor_names() {
  static const std::vector<std::string> names = {"importance", "levels",   "tokens",
                                                 "nll",        "features", "recall"};
  return names;
}

void check_names(const model::SafetensorsReader& reader, Problems& problems) {
  for (const auto& tensor : reader.tensors()) {
    const auto& names = tensor_names();
    if (std::find(names.begin(), names.end(), tensor.name) != names.end()) continue;
    problems.push_back(fmt::format("tensor '{}' is unknown{}; a trace holds {}", tensor.name,
                                   suggestion(tensor.name, names), fmt::join(names, ", ")));
  }
}

// The tensor, or null and a problem. An extent below 1 means any.
const model::TensorInfo* find(const model::SafetensorsReader& reader, const std::string& name,
                              Dtype dtype, std::vector<std::int64_t> shape, Problems& problems) {
  for (std::int64_t& extent : shape) extent = extent < 1 ? -1 : extent;
  try {
    return &reader.require(name, dtype, shape);
  } catch (const UserError& error) {
    const std::string prefix = reader.path() + ": ";
    const std::string what = error.what();
    problems.push_back(what.starts_with(prefix) ? what.substr(prefix.size()) : what);
    return nullptr;
  }
}

template <typename T>
std::vector<T> read(const model::SafetensorsReader& reader, const std::string& name, Dtype dtype,
                    std::vector<std::int64_t> shape, Problems& problems) {
  const auto* tensor = find(reader, name, dtype, std::move(shape), problems);
  return tensor == nullptr ? std::vector<T>{} : reader.read<T>(*tensor);
}

// The first value that `right` refuses becomes one problem.
template <typename T, typename Right>
void check_values(const std::string& name, std::span<const T> values, std::string_view rule,
                  Right right, Problems& problems) {
  const auto wrong = std::find_if_not(values.begin(), values.end(), right);
  if (wrong == values.end()) return;
  const auto count = 1 + std::count_if(wrong + 1, values.end(), [&](T v) { return !right(v); });
  problems.push_back(fmt::format("tensor '{}': value {} is {}; it must be {} ({} wrong in all)",
                                 name, wrong - values.begin(), *wrong, rule, count));
}

void check_levels(std::span<const float> levels, Problems& problems) {
  const std::size_t before = problems.size();
  check_values<float>(
      "levels", levels, "finite and ≥ 0", [](float v) { return v >= 0 && std::isfinite(v); },
      problems);
  if (problems.size() != before) return;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    if (i % model::kLevels == 0 || levels[i] >= levels[i - 1]) continue;
    problems.push_back(fmt::format(
        "tensor 'levels': layer {}, code {}: {} comes after {}; levels must not decrease",
        i / model::kLevels, i % model::kLevels, levels[i], levels[i - 1]));
    return;
  }
}

void check_recall(const Contents& contents, bool present, Problems& problems) {
  check_values<float>(
      "recall", contents.recall, "in 0 … 1 or NaN",
      [](float v) { return std::isnan(v) || (v >= 0 && v <= 1); }, problems);
  if (present != (contents.info.recall_density > 0)) {
    problems.push_back(present
                           ? "tensor 'recall' is there, but metadata 'recall_density' is 0"
                           : "metadata 'recall_density' is set, but tensor 'recall' is missing");
  }
}

void check_nll(std::span<const float> nll, Problems& problems) {
  check_values<float>(
      "nll", nll, "finite and ≥ 0, or NaN where unknown",
      [](float v) { return std::isnan(v) || (v >= 0 && std::isfinite(v)); }, problems);
  if (!nll.empty() && !std::isnan(nll[0])) {
    problems.push_back(fmt::format(
        "tensor 'nll': value 0 is {}; nothing precedes token 0, so it must be NaN", nll[0]));
  }
}

void load_features(const model::SafetensorsReader& reader, std::int64_t tokens, Contents& contents,
                   Problems& problems) {
  if (!reader.contains("features")) return;
  const auto& model = contents.info.model;
  const auto* tensor = find(reader, "features", Dtype::kF16,
                            {tokens, model.layers, kFeatures, model.hidden}, problems);
  if (tensor == nullptr) return;
  const auto bytes = reader.bytes(*tensor);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(std::uint16_t) != 0) {
    problems.push_back(
        "tensor 'features' starts at an odd byte; pad the header with spaces to a multiple of 8 "
        "and store 'importance' last");
    return;
  }
  contents.features = {reinterpret_cast<const std::uint16_t*>(bytes.data()),
                       bytes.size() / sizeof(std::uint16_t)};
}

}  // namespace

Contents load(const model::SafetensorsReader& reader, Problems& problems) {
  Contents contents;
  contents.info = from_metadata(reader.metadata(), problems);
  check_names(reader, problems);
  const auto& model = contents.info.model;
  std::int64_t tokens = 0;
  const auto* importance =
      find(reader, "importance", Dtype::kU8, {-1, model.layers, model.ffn}, problems);
  if (importance != nullptr) {
    tokens = importance->shape[0];
    const auto bytes = reader.bytes(*importance);
    contents.importance = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    if (tokens < 1 || tokens > std::numeric_limits<TokenId>::max()) {
      problems.push_back(fmt::format("tensor 'importance' holds {} tokens; 1 … 2^31−1", tokens));
    }
  }
  contents.levels =
      read<float>(reader, "levels", Dtype::kF32, {model.layers, model::kLevels}, problems);
  contents.token_ids = read<std::int32_t>(reader, "tokens", Dtype::kI32, {tokens}, problems);
  contents.nll = read<float>(reader, "nll", Dtype::kF32, {tokens}, problems);
  const bool recall = reader.contains("recall");
  if (recall) {
    contents.recall =
        read<float>(reader, "recall", Dtype::kF32, {model.layers, kFeatures}, problems);
  }
  load_features(reader, tokens, contents, problems);
  check_levels(contents.levels, problems);
  check_values<std::int32_t>(
      "tokens", contents.token_ids, "a vocabulary id ≥ 0", [](std::int32_t id) { return id >= 0; },
      problems);
  check_nll(contents.nll, problems);
  check_recall(contents, recall, problems);
  return contents;
}

void check_features(const Contents& contents, Problems& problems) {
  constexpr std::uint16_t kExponent = 0x7C00;  // all ones: infinite or no number
  const auto features = contents.features;
  const auto wrong = std::find_if(features.begin(), features.end(),
                                  [](std::uint16_t v) { return (v & kExponent) == kExponent; });
  if (wrong == features.end()) return;
  const auto& model = contents.info.model;
  if (model.layers < 1 || model.hidden < 1) return;  // reported already
  const auto at = static_cast<std::int64_t>(wrong - features.begin());
  const std::int64_t row = at / model.hidden;
  problems.push_back(fmt::format(
      "tensor 'features': token {}, layer {}, feature {}, dimension {} is infinite or NaN",
      row / kFeatures / model.layers, row / kFeatures % model.layers,
      row % kFeatures + kFirstFeature, at % model.hidden));
}

}  // namespace leanstream::traces
