#include <algorithm>

#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct S3FifoParameters {
  double small_share = 0.1;
  double ghost_share = 0.9;
  std::int32_t uses_to_stay = 2;
};

// Three queues (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023): blocks
// are admitted to a small one, from which those that were used again often enough go on to the main
// one and the others out; what left the small queue not long ago (the ghosts) comes back straight
// to the main one, where each use, of at most three, is worth another round. While nothing has been
// evicted yet, what the small queue cannot hold goes to the main one.
class S3Fifo final : public CachePolicy {
 public:
  using Parameters = S3FifoParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::ratio("small_share", &Parameters::small_share, "of the slots: the small queue"),
        config::ratio("ghost_share", &Parameters::ghost_share,
                      "blocks remembered after they left the small queue, ÷ slots"),
        config::integer("uses_to_stay", &Parameters::uses_to_stay,
                        "uses after the first that take a block to the main queue")
            .range(1, 3)};
    return parameters;
  }

  S3Fifo(const Context& context, const Parameters& parameters)
      : small_slots_(static_cast<std::int64_t>(context.slots * parameters.small_share)),
        ghost_slots_(static_cast<std::int64_t>(context.slots * parameters.ghost_share)),
        main_slots_(context.slots - small_slots_),
        uses_to_stay_(static_cast<std::uint8_t>(parameters.uses_to_stay)),
        reuse_(context.layers, context.blocks_per_layer),
        uses_(context.layers, context.blocks_per_layer),
        ghosts_(context.layers, context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId) override {
    reuse_.arrived(layer, blocks);
    blocks.for_each([&](BlockId b) {
      const BlockRef ref{layer, b};
      uses_.of(ref) = 0;
      const bool ghost = ghosts_.forget(ref);
      const bool filling = !has_evicted_ && small_.size() >= small_slots_;
      (ghost || filling ? main_ : small_).push(ref);
    });
    ghosts_.trim(ghost_slots_);
  }

  void used(LayerId layer, const BlockSet& blocks, StepId) override {
    reuse_.reused(layer, blocks).for_each([&](BlockId b) {
      std::uint8_t& uses = uses_.of({layer, b});
      uses = std::min<std::uint8_t>(3, uses + 1);
    });
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    has_evicted_ = true;
    kept_small_.clear();
    kept_main_.clear();
    while (count > 0 && !(small_.empty() && main_.empty())) {
      const auto in_main = main_.size() + static_cast<std::int64_t>(kept_main_.size());
      const bool from_main = small_.empty() || (in_main > main_slots_ && !main_.empty());
      if (from_main ? find_in_main(cache, out) : find_in_small(cache, out)) --count;
    }
    small_.put_back(kept_small_);
    main_.put_back(kept_main_);
  }

 private:
  // Blocks out of the cache, the newest `slots` of them; a queue with holes.
  class Ghosts {
   public:
    Ghosts(LayerId layers, BlockId blocks) : number_(layers, blocks) {}

    bool forget(const BlockRef& ref) {
      const bool there = number_.of(ref) != 0;
      number_.of(ref) = 0;
      size_ -= there ? 1 : 0;
      return there;
    }
    void remember(const BlockRef& ref) {
      if (number_.of(ref) != 0) return;
      queue_.push(ref);
      number_.of(ref) = popped_ + queue_.size();
      ++size_;
    }
    // Not before what room was made for has arrived: it may be a ghost that would just go.
    void trim(std::int64_t slots) {
      while (size_ > slots) {
        const BlockRef oldest = queue_.pop();
        if (number_.of(oldest) == ++popped_) forget(oldest);  // otherwise a hole
      }
    }

   private:
    BlockQueue queue_;
    std::int64_t popped_ = 0;
    std::int64_t size_ = 0;
    BlockTable<std::int64_t> number_;  // which of all pushes it was; 0: not there
  };

  // One victim of the small queue, if it has one.
  bool find_in_small(const CacheView& cache, std::vector<BlockRef>& out) const {
    while (!small_.empty()) {
      const BlockRef ref = small_.pop();
      if (!is_in(cache.evictable, ref)) {
        if (!has_gone(cache, ref)) kept_small_.push_back(ref);
      } else if (uses_.of(ref) >= uses_to_stay_) {
        uses_.of(ref) = 0;
        main_.push(ref);
      } else {
        ghosts_.remember(ref);
        out.push_back(ref);
        return true;
      }
    }
    return false;
  }

  bool find_in_main(const CacheView& cache, std::vector<BlockRef>& out) const {
    while (!main_.empty()) {
      const BlockRef ref = main_.pop();
      if (!is_in(cache.evictable, ref)) {
        if (!has_gone(cache, ref)) kept_main_.push_back(ref);
      } else if (uses_.of(ref) > 0) {
        --uses_.of(ref);
        main_.push(ref);
      } else {
        out.push_back(ref);
        return true;
      }
    }
    return false;
  }

  std::int64_t small_slots_, ghost_slots_, main_slots_;
  std::uint8_t uses_to_stay_;
  ReuseFilter reuse_;
  mutable bool has_evicted_ = false;
  mutable BlockQueue small_, main_;
  mutable BlockTable<std::uint8_t> uses_;  // since it arrived or reached the main queue, at most 3
  mutable Ghosts ghosts_;
  mutable std::vector<BlockRef> kept_small_, kept_main_;  // scratch: not evictable now
};

}  // namespace

LEANSTREAM_CACHE_POLICY(S3Fifo, "s3fifo", "a small queue admits to a main one, with ghosts")

}  // namespace leanstream::policy
