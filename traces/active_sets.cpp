#include "traces/active_sets.h"

#include "engine/model/density.h"

namespace leanstream::traces {

SetSequence::SetSequence(TokenId tokens, LayerId layers, std::int32_t ffn)
    : tokens_(tokens),
      layers_(layers),
      ffn_(ffn),
      sets_(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(layers), BlockSet(ffn)) {}

SetSequence active_sets(const model::Activations& activations, double density) {
  SetSequence sets(activations.tokens(), activations.layers(), activations.ffn());
  const std::int32_t count = model::kept_count(density, sets.ffn());
  TopChoice top;
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      top.choose(activations.importance(t, l), t, count, sets.at(t, l));
    }
  }
  return sets;
}

}  // namespace leanstream::traces
