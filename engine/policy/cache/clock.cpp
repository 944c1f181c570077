#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// First in, first out with a second chance: a block that was used again since it arrived, or since
// its last chance, goes back to the end of the queue (Corbato, "A paging experiment with the
// Multics system", 1968).
class Clock final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Clock(const Context& context, const Parameters&)
      : reuse_(context.layers, context.blocks_per_layer),
        used_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    reuse_.arrived(layer, blocks);
    used_.of(layer) -= blocks;
    queue_.push(layer, blocks);
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override {
    used_.of(layer) |= reuse_.reused(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    kept_.clear();
    LayerWords words(cache, used_);
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(count) + 1);
    BlockRef* at = out.data() + before;
    const BlockRef* const end = at + count;
    // Twice round, every block has lost its chance.
    for (std::int64_t left = 2 * queue_.size(); left > 0 && at != end && !queue_.empty(); --left) {
      const BlockRef ref = queue_.pop();
      if (!words.evictable(ref)) {
        if (!has_gone(cache, ref)) kept_.push_back(ref);
        continue;
      }
      const bool again = words.take_flag(ref);
      queue_.push_if(ref, again);
      *at = ref;
      at += again ? 0 : 1;
    }
    out.resize(static_cast<std::size_t>(at - out.data()));
    queue_.put_back(kept_);
  }

 private:
  mutable BlockQueue queue_;
  ReuseFilter reuse_;
  mutable BlockFlags used_;
  mutable std::vector<BlockRef> kept_;  // scratch: not evictable now
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Clock, "clock", "as fifo, but what was used again gets a second chance")

}  // namespace leanstream::policy
