#include "engine/transformer/active_sets.h"

#include <array>
#include <bit>
#include <cstring>

#include "engine/base/check.h"

namespace leanstream::transformer {

ActiveSets::ActiveSets(std::int64_t tokens, std::int32_t layers, std::int32_t ffn)
    : tokens_(tokens),
      layers_(layers),
      ffn_(ffn),
      row_bytes_((static_cast<std::size_t>(ffn) + 7) / 8),
      bits_(static_cast<std::size_t>(tokens * layers) * row_bytes_) {}

ActiveSets ActiveSets::read(const model::SafetensorsReader& file, std::string_view name,
                            std::int32_t layers, std::int32_t ffn) {
  const std::array<std::int64_t, 3> shape{-1, layers, (ffn + 7) / 8};
  const auto& tensor = file.require(name, model::Dtype::kU8, shape);
  ActiveSets sets(tensor.shape[0], layers, ffn);
  file.read<std::uint8_t>(tensor, 0, sets.bits_);
  return sets;
}

void ActiveSets::write(const std::string& path) const {
  model::SafetensorsWriter writer(
      path,
      {{"sets", model::Dtype::kU8, {tokens_, layers_, static_cast<std::int64_t>(row_bytes_)}}},
      {{"format", "leanstream-sets-1"}, {"ffn", std::to_string(ffn_)}});
  writer.append<std::uint8_t>("sets", bits_);
  writer.commit();
}

void ActiveSets::put(std::int64_t token, LayerId layer, const BlockSet& active) {
  static_assert(std::endian::native == std::endian::little, "words are copied as bytes");
  LEANSTREAM_CHECK(token >= 0 && token < tokens_ && active.size() == ffn_, "token {} of {}", token,
                   tokens_);
  std::memcpy(bits_.data() + at(token, layer), active.words().data(), row_bytes_);
}

void SelectingObserver::mlp(MlpStep& step) {
  if (rule_.density >= 1 && record_ == nullptr) return;
  for (std::int64_t t = 0; t < step.h.rows(); ++t) {
    select_active(step.importance[t], rule_, active_);
    if (record_ != nullptr) record_->put(step.first_position + t, step.layer, active_);
    const auto h = step.h[t];
    for (BlockId j = 0; j < active_.size(); ++j) {
      if (!active_.test(j)) h[static_cast<std::size_t>(j)] = 0;
    }
  }
}

void ForcingObserver::mlp(MlpStep& step) {
  LEANSTREAM_CHECK(step.first_position + step.h.rows() <= sets_.tokens(), "sets of {} tokens",
                   sets_.tokens());
  for (std::int64_t t = 0; t < step.h.rows(); ++t) {
    const auto h = step.h[t];
    for (std::size_t j = 0; j < h.size(); ++j) {
      if (!sets_.test(step.first_position + t, step.layer, static_cast<std::int32_t>(j))) h[j] = 0;
    }
  }
}

}  // namespace leanstream::transformer
