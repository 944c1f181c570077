#include "engine/scheduler/future_sets.h"

#include "engine/scheduler/timing.h"

namespace leanstream::scheduler {

FutureSets::FutureSets(const RunSpec& spec, const Policies& policies)
    : spec_(spec), policies_(policies) {}

BlockSet FutureSets::wanted(TokenId token, LayerId layer) const {
  BlockSet wanted(spec_.geometry.blocks_per_layer);
  if (policies_.predictor->wants_everything()) {
    wanted.fill();
    return wanted;
  }
  if (!selection_) selection_.emplace(spec_, *policies_.activations);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(spec_.geometry.ffn));
  std::vector<std::uint8_t> priority(static_cast<std::size_t>(wanted.size()));
  if (token < spec_.prompt_tokens) {
    const auto truth = policies_.activations->importance(token, layer);
    codes.assign(truth.begin(), truth.end());
  } else {
    policies_.predictor->predict(token, layer, final_feature(timing_of(spec_, policies_), layer),
                                 codes);
  }
  selection_->choose(token, layer, codes, nullptr, wanted, priority);
  return wanted;
}

}  // namespace leanstream::scheduler
