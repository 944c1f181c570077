#include <algorithm>
#include <utility>

#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/run_queue.h"

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
      : ahead_(context.blocks_per_layer),
        passed_(context.blocks_per_layer),
        marks_(context.layers, context.blocks_per_layer),
        walk_(context.blocks_per_layer),
        stays_(context.blocks_per_layer),
        sets_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    marks_.arrived(layer, blocks);
    ahead_.push(layer, blocks);
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override { marks_.used(layer, blocks); }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    list_victims(*this, cache, count, sets_, out);
  }

  // Twice round, no block has a mark.
  void victim_sets(const CacheView& cache, BlockId count, VictimSets& out) const override {
    for (std::int64_t left = 2 * (ahead_.size() + passed_.size());
         left > 0 && count > 0 && !ahead_.empty();) {
      const std::int64_t before = ahead_.size();
      walk_.go(ahead_, cache, marks_.sets(), std::min(left, before), count, out,
               [this](LayerId layer, const BlockSet& again, const BlockSet& held, bool) {
                 stays_ = again;
                 stays_ |= held;
                 passed_.push(layer, stays_);
               });
      left -= before - ahead_.size();
      if (ahead_.empty()) std::swap(ahead_, passed_);
    }
  }

 private:
  mutable RunQueue ahead_, passed_;  // passed_ holds the older ones
  mutable ReuseMarks marks_;
  mutable RunWalk walk_;
  mutable BlockSet stays_;   // scratch
  mutable VictimSets sets_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Sieve, "sieve", "a hand spares what was used again since it last came by")

}  // namespace leanstream::policy
