#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// A hand moves over the blocks in the order of arrival: what was used again loses its mark and
// stays where it is, what was not goes. Behind the newest block the hand returns to the oldest
// (Zhang et al., "SIEVE is simpler than LRU", NSDI 2024). The blocks that the hand has passed and
// those before it are two queues, so that it reads memory in order.
class Sieve final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Sieve(const Context& context, const Parameters&)
      : reuse_(context.layers, context.blocks_per_layer),
        used_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    reuse_.arrived(layer, blocks);
    used_.of(layer) -= blocks;
    ahead_.push(layer, blocks);
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override {
    used_.of(layer) |= reuse_.reused(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    LayerWords words(cache, used_);
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(count) + 1);
    BlockRef* at = out.data() + before;
    const BlockRef* const end = at + count;
    // Twice round, no block has a mark.
    for (std::int64_t left = 2 * (ahead_.size() + passed_.size()); left > 0 && at != end; --left) {
      if (ahead_.empty()) break;
      const BlockRef ref = ahead_.pop();
      if (words.evictable(ref)) {
        const bool again = words.take_flag(ref);
        passed_.push_if(ref, again);
        *at = ref;
        at += again ? 0 : 1;
      } else if (!has_gone(cache, ref)) {
        passed_.push(ref);
      }
      if (ahead_.empty()) std::swap(ahead_, passed_);
    }
    out.resize(static_cast<std::size_t>(at - out.data()));
  }

 private:
  mutable BlockQueue ahead_, passed_;  // passed_ holds the older ones
  ReuseFilter reuse_;
  mutable BlockFlags used_;
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Sieve, "sieve", "a hand spares what was used again since it last came by")

}  // namespace leanstream::policy
