// The active neurons of every token and layer of a text, in memory and as a safetensors file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"
#include "engine/model/safetensors.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/selection.h"

namespace leanstream::transformer {

class ActiveSets {
 public:
  ActiveSets(std::int64_t tokens, std::int32_t layers, std::int32_t ffn);

  // From tensor `name`, u8 [tokens, layers, ⌈ffn / 8⌉]: neuron j is bit j % 8 (the lowest first) of
  // byte j / 8. Throws UserError when it does not fit layers and ffn.
  static ActiveSets read(const model::SafetensorsReader& file, std::string_view name,
                         std::int32_t layers, std::int32_t ffn);
  // As tensor `sets`, atomically.
  void write(const std::string& path) const;

  std::int64_t tokens() const { return tokens_; }
  void put(std::int64_t token, LayerId layer, const BlockSet& active);
  bool test(std::int64_t token, LayerId layer, std::int32_t neuron) const {
    return bits_[at(token, layer) + static_cast<std::size_t>(neuron / 8)] >> (neuron % 8) & 1;
  }

 private:
  std::size_t at(std::int64_t token, LayerId layer) const {
    return static_cast<std::size_t>(token * layers_ + layer) * row_bytes_;
  }

  std::int64_t tokens_;
  std::int32_t layers_;
  std::int32_t ffn_;
  std::size_t row_bytes_;
  std::vector<std::uint8_t> bits_;
};

// Computes what the rule selects; notes it in `record` unless that is nullptr.
class SelectingObserver final : public Observer {
 public:
  SelectingObserver(SelectionRule rule, std::int32_t ffn, ActiveSets* record = nullptr)
      : rule_(rule), active_(ffn), record_(record) {}
  void mlp(MlpStep& step) override;

 private:
  SelectionRule rule_;
  BlockSet active_;
  ActiveSets* record_;
};

// Computes the given sets, which must hold every token that is run.
class ForcingObserver final : public Observer {
 public:
  explicit ForcingObserver(const ActiveSets& sets) : sets_(sets) {}
  void mlp(MlpStep& step) override;

 private:
  const ActiveSets& sets_;
};

}  // namespace leanstream::transformer
