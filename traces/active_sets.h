// The active set A of every token and layer at one density (engine/README.md): the truth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/top_choice.h"
#include "engine/model/activations.h"

namespace leanstream::traces {

// One set for each step, in time order: token by token, layer by layer.
class SetSequence {
 public:
  SetSequence(TokenId tokens, LayerId layers, std::int32_t ffn);

  TokenId tokens() const { return tokens_; }
  LayerId layers() const { return layers_; }
  std::int32_t ffn() const { return ffn_; }
  std::int64_t neurons() const { return std::int64_t{layers_} * ffn_; }  // of all layers
  std::int64_t steps() const { return std::int64_t{tokens_} * layers_; }

  const BlockSet& at(TokenId token, LayerId layer) const { return sets_[index(token, layer)]; }
  BlockSet& at(TokenId token, LayerId layer) { return sets_[index(token, layer)]; }

 private:
  std::size_t index(TokenId token, LayerId layer) const {
    return static_cast<std::size_t>(token) * static_cast<std::size_t>(layers_) +
           static_cast<std::size_t>(layer);
  }

  TokenId tokens_;
  LayerId layers_;
  std::int32_t ffn_;
  std::vector<BlockSet> sets_;
};

// The active sets of all tokens. 0 < density ≤ 1.
SetSequence active_sets(const model::Activations& activations, double density);

}  // namespace leanstream::traces
