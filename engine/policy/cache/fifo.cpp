#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/run_queue.h"

namespace leanstream::policy {
namespace {

// Evicts what came from flash longest ago, however often it was used since; of one arrival the
// lowest block first.
class Fifo final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Fifo(const Context& context, const Parameters&)
      : queue_(context.blocks_per_layer),
        walk_(context.blocks_per_layer),
        kept_(context.blocks_per_layer),
        sets_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    queue_.push(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    list_victims(*this, cache, count, sets_, out);
  }

  void victim_sets(const CacheView& cache, BlockId count, VictimSets& out) const override {
    walk_.go(queue_, cache, {}, queue_.size(), count, out,
             [this](LayerId layer, const BlockSet&, const BlockSet& held, bool whole) {
               kept_.keep(queue_, layer, held, whole);
             });
    kept_.put_back(queue_);
  }

 private:
  mutable RunQueue queue_;
  mutable RunWalk walk_;
  mutable KeptRuns kept_;    // scratch
  mutable VictimSets sets_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Fifo, "fifo", "what came from flash longest ago goes first")

}  // namespace leanstream::policy
