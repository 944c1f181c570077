#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/run_queue.h"

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
      : queue_(context.blocks_per_layer),
        marks_(context.layers, context.blocks_per_layer),
        walk_(context.blocks_per_layer),
        kept_(context.blocks_per_layer),
        sets_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    marks_.arrived(layer, blocks);
    queue_.push(layer, blocks);
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override { marks_.used(layer, blocks); }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    list_victims(*this, cache, count, sets_, out);
  }

  // Twice round, every block has lost its chance.
  void victim_sets(const CacheView& cache, BlockId count, VictimSets& out) const override {
    walk_.go(queue_, cache, marks_.sets(), 2 * queue_.size(), count, out,
             [this](LayerId layer, const BlockSet& again, const BlockSet& held, bool whole) {
               kept_.keep(queue_, layer, held, whole);
               queue_.push(layer, again);
             });
    kept_.put_back(queue_);
  }

 private:
  mutable RunQueue queue_;
  mutable ReuseMarks marks_;
  mutable RunWalk walk_;
  mutable KeptRuns kept_;    // scratch: not evictable now
  mutable VictimSets sets_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Clock, "clock", "as fifo, but what was used again gets a second chance")

}  // namespace leanstream::policy
