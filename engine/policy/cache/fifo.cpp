#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

// Evicts what came from flash longest ago, however often it was used since; of one arrival the
// lowest block first.
class Fifo final : public CachePolicy {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Fifo(const Context&, const Parameters&) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    queue_.push(layer, blocks);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    kept_.clear();
    while (count > 0 && !queue_.empty()) {
      const BlockRef ref = queue_.pop();
      if (BlockFlags::test_in(cache.evictable, ref)) {
        out.push_back(ref);
        --count;
      } else if (!has_gone(cache, ref)) {
        kept_.push_back(ref);
      }
    }
    queue_.put_back(kept_);
  }

 private:
  mutable BlockQueue queue_;
  mutable std::vector<BlockRef> kept_;  // scratch: not evictable now
};

}  // namespace

LEANSTREAM_CACHE_POLICY(Fifo, "fifo", "what came from flash longest ago goes first")

}  // namespace leanstream::policy
