#include "engine/scheduler/quotas.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::scheduler {

Quotas::Quotas(Scope scope, LayerId layers, BlockId blocks, SlotId slots, SlotId smallest_of_layer)
    : scope_(scope), blocks_(blocks), slots_(slots), smallest_(smallest_of_layer) {
  if (shared()) return;
  for (LayerId l = 0; l < layers; ++l) {  // the first layers get what does not divide
    quota_.push_back(std::min(blocks, slots / layers + (l < slots % layers ? 1 : 0)));
  }
  if (scope == Scope::by_miss_curve) {
    distances_.assign(static_cast<std::size_t>(layers), StackDistances(1, blocks));
  }
}

void Quotas::prompt_used(LayerId layer, const BlockSet& blocks) {
  if (scope_ != Scope::by_miss_curve) return;
  distances_[static_cast<std::size_t>(layer)].add(0, blocks, prompt_uses_++);
}

void Quotas::fix() {
  if (scope_ != Scope::by_miss_curve) return;
  SlotId left = slots_;
  for (SlotId& q : quota_) q = smallest_, left -= smallest_;
  LEANSTREAM_CHECK(left >= 0, "{} slots for {} layers", slots_, quota_.size());
  while (left > 0) {
    std::size_t best = quota_.size();
    SlotId best_more = 0;
    std::int64_t best_hits = 0;
    for (std::size_t l = 0; l < quota_.size(); ++l) {
      std::int64_t hits = 0;
      for (SlotId size = quota_[l] + 1; size <= std::min(blocks_, quota_[l] + left); ++size) {
        hits += distances_[l].hits()[static_cast<std::size_t>(size)];
        const SlotId more = size - quota_[l];
        // hits ÷ more > best_hits ÷ best_more, in integers
        if (hits > 0 && (best_more == 0 || hits * best_more > best_hits * more)) {
          best = l, best_more = more, best_hits = hits;
        }
      }
    }
    if (best == quota_.size()) break;  // nothing would gain
    quota_[best] += best_more;
    left -= best_more;
  }
  for (std::size_t l = 0; left > 0 && l < quota_.size(); ++l) {  // what nobody needs, evenly
    const auto layers_left = static_cast<SlotId>(quota_.size() - l);
    const SlotId more = std::min(blocks_ - quota_[l], left / layers_left);
    quota_[l] += more;
    left -= more;
  }
}

}  // namespace leanstream::scheduler
