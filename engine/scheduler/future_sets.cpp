#include "engine/scheduler/future_sets.h"

#include "engine/scheduler/timing.h"

namespace leanstream::scheduler {

FutureSets::FutureSets(const RunSpec& spec, const Policies& policies)
    : spec_(spec), policies_(policies) {}

BlockSet FutureSets::wanted(TokenId token, LayerId layer) const {
  BlockScores scores(spec_.geometry.blocks_per_layer);
  if (policies_.predictor->wants_everything()) {
    scores.wanted.fill();
    return scores.wanted;
  }
  if (!selection_) selection_.emplace(spec_, *policies_.activations);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(spec_.geometry.ffn));
  if (token < spec_.prompt_tokens) {
    const auto truth = policies_.activations->importance(token, layer);
    codes.assign(truth.begin(), truth.end());
  } else {
    policies_.predictor->predict(token, layer, final_feature(timing_of(spec_, policies_), layer),
                                 codes);
  }
  selection_->choose(token, layer, codes, nullptr, scores);
  return scores.wanted;
}

}  // namespace leanstream::scheduler
