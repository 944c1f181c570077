#include "traces/active_sets.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/model/density.h"

namespace leanstream::traces {

Cut select_active(std::span<const std::uint8_t> codes, TokenId token, std::int32_t count,
                  BlockSet& out) {
  LEANSTREAM_CHECK(
      static_cast<std::size_t>(out.size()) == codes.size() && count >= 1 && count <= out.size(),
      "{} of {} neurons into a set of {}", count, codes.size(), out.size());
  std::array<std::int32_t, model::kLevels> histogram{};
  for (const std::uint8_t code : codes) ++histogram[code];
  std::size_t threshold = model::kLevels - 1;
  std::int32_t above = 0;
  while (above + histogram[threshold] < count) above += histogram[threshold--];

  out.clear();
  const Cut cut{.tied = histogram[threshold], .chosen = count - above};
  std::vector<std::pair<std::uint64_t, BlockId>> tied;
  tied.reserve(static_cast<std::size_t>(cut.tied));
  for (BlockId j = 0; j < out.size(); ++j) {
    const std::uint8_t code = codes[static_cast<std::size_t>(j)];
    if (code > threshold || (code == threshold && cut.chosen == cut.tied)) {
      out.set(j);
    } else if (code == threshold) {
      tied.emplace_back(mix(static_cast<std::uint64_t>(token), static_cast<std::uint64_t>(j)), j);
    }
  }
  if (tied.empty()) return cut;
  const auto end = tied.begin() + cut.chosen;
  std::nth_element(tied.begin(), end, tied.end(), std::greater<>());
  std::for_each(tied.begin(), end, [&](const auto& entry) { out.set(entry.second); });
  return cut;
}

SetSequence::SetSequence(TokenId tokens, LayerId layers, std::int32_t ffn)
    : tokens_(tokens),
      layers_(layers),
      ffn_(ffn),
      sets_(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(layers), BlockSet(ffn)) {}

SetSequence active_sets(const model::Activations& activations, double density) {
  SetSequence sets(activations.tokens(), activations.layers(), activations.ffn());
  const std::int32_t count = model::kept_count(density, sets.ffn());
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      select_active(activations.importance(t, l), t, count, sets.at(t, l));
    }
  }
  return sets;
}

}  // namespace leanstream::traces
