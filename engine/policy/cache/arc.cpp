#include <algorithm>

#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/recency_list.h"

namespace leanstream::policy {
namespace {

// Adaptive replacement (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache",
// FAST 2003): blocks used once and blocks used again have a list of their own, each by last use,
// and so have those that went from it (ghosts). Whose ghosts are asked for grows. The target moves
// when blocks arrive, one after the other by index, after room was made for all of them.
class Arc final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Arc(const Context& context, const Parameters&)
      : slots_(context.slots),
        reuse_(context.layers, context.blocks_per_layer),
        once_(context.layers, context.blocks_per_layer),
        again_(once_),
        once_ghosts_(once_),
        again_ghosts_(once_),
        known_(context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId step) override {
    const StepId now = clock_.at(step);
    reuse_.arrived(layer, blocks);
    once_.remove(layer, blocks);  // where one went without being named
    again_.remove(layer, blocks);
    blocks.for_each([&](BlockId b) { arrive({layer, b}, now); });
    while (once_.size() + once_ghosts_.size() > slots_ && once_ghosts_.size() > 0) {
      once_ghosts_.remove(*once_ghosts_.oldest());
    }
    while (again_ghosts_.size() > 0 &&
           once_.size() + again_.size() + once_ghosts_.size() + again_ghosts_.size() > 2 * slots_) {
      again_ghosts_.remove(*again_ghosts_.oldest());
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    const StepId now = clock_.at(step);
    known_ = once_.of(layer);
    known_ |= again_.of(layer);
    known_ &= reuse_.reused(layer, blocks);
    once_.remove(layer, known_);
    again_.touch(layer, known_, now);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    for (; count > 0; --count) {
      const bool of_once = once_.size() > target_;
      auto victim = (of_once ? once_ : again_).oldest(cache.evictable);
      if (!victim) victim = (of_once ? again_ : once_).oldest(cache.evictable);
      if (!victim) return;
      const bool was_once = once_.holds(*victim);
      (was_once ? once_ : again_).remove(*victim);
      (was_once ? once_ghosts_ : again_ghosts_).touch(*victim, clock_.now());
      out.push_back(*victim);
    }
  }

 private:
  void arrive(const BlockRef& ref, StepId now) {
    const std::int64_t once = once_ghosts_.size();
    const std::int64_t again = again_ghosts_.size();
    if (once_ghosts_.holds(ref)) {
      target_ = std::min(slots_, target_ + std::max<std::int64_t>(1, again / once));
      once_ghosts_.remove(ref);
    } else if (again_ghosts_.holds(ref)) {
      target_ = std::max<std::int64_t>(0, target_ - std::max<std::int64_t>(1, once / again));
      again_ghosts_.remove(ref);
    } else {
      return once_.touch(ref, now);
    }
    again_.touch(ref, now);
  }

  std::int64_t slots_;
  std::int64_t target_ = 0;  // of once_
  HookClock clock_;
  ReuseFilter reuse_;
  mutable RecencyList once_, again_, once_ghosts_, again_ghosts_;
  BlockSet known_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Arc, "arc", "used once or again, in shares that their ghosts decide")

}  // namespace leanstream::policy
