#include <algorithm>

#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/block_queue.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/cache/recency_list.h"

namespace leanstream::policy {
namespace {

struct WTinyLfuParameters {
  double window_share = 0.01;
  double protected_share = 0.8;
  std::int32_t sample = 10;
};

// A small window by last use in front of a main part that admits by use counts (Einziger, Friedman
// and Manes, "TinyLFU", ACM ToS 2017): the oldest block of a window that is too large stays only if
// it was used more often than the oldest one on probation, which then goes. In the main part what
// is used again is protected, up to a share of it. There are few enough blocks to count exactly;
// counts are halved after `sample` uses a slot.
class WTinyLfu final : public CachePolicy {
 public:
  using Parameters = WTinyLfuParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::ratio("window_share", &Parameters::window_share, "of the slots for the window"),
        config::ratio("protected_share", &Parameters::protected_share,
                      "of the main part for what was used there again"),
        config::integer("sample", &Parameters::sample, "uses a slot after which counts halve")
            .range(1, 1 << 20)};
    return parameters;
  }

  WTinyLfu(const Context& context, const Parameters& p)
      : window_slots_(
            std::max<std::int64_t>(1, static_cast<std::int64_t>(context.slots * p.window_share))),
        main_slots_(context.slots - window_slots_),
        protected_slots_(
            static_cast<std::int64_t>(static_cast<double>(main_slots_) * p.protected_share)),
        sample_(std::int64_t{p.sample} * context.slots),
        reuse_(context.layers, context.blocks_per_layer),
        counts_(context.layers, context.blocks_per_layer),
        window_(context.layers, context.blocks_per_layer),
        probation_(window_),
        protected_(window_),
        here_(context.blocks_per_layer) {}

  void inserted(LayerId layer, const BlockSet& blocks, StepId step) override {
    const StepId now = clock_.at(step);
    reuse_.arrived(layer, blocks);
    probation_.remove(layer, blocks);  // where one went without being named
    protected_.remove(layer, blocks);
    window_.touch(layer, blocks, now);
    while (window_.size() > window_slots_ && probation_.size() + protected_.size() < main_slots_) {
      admit(*window_.oldest());
    }
  }

  void used(LayerId layer, const BlockSet& blocks, StepId step) override {
    const StepId now = clock_.at(step);
    count(layer, blocks);
    const BlockSet& reused = reuse_.reused(layer, blocks);
    here_ = reused;
    here_ &= window_.of(layer);
    window_.touch(layer, here_, now);
    here_ = probation_.of(layer);
    here_ |= protected_.of(layer);
    here_ &= reused;
    probation_.remove(layer, here_);
    protected_.touch(layer, here_, now);
    while (protected_.size() > protected_slots_) {
      const BlockRef ref = *protected_.oldest();
      protected_.remove(ref);
      probation_.touch(ref, now);
    }
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    const std::int64_t coming = count;  // room is made for as many, which come to the window
    for (; count > 0; --count) {
      const auto newcomer = window_.oldest(cache.evictable);
      auto old = probation_.oldest(cache.evictable);
      if (!old) old = protected_.oldest(cache.evictable);
      if (!newcomer && !old) return;
      const bool too_large = newcomer && window_.size() + coming > window_slots_;
      bool newcomer_goes = !old;
      if (old && too_large) {
        newcomer_goes = count_of(*newcomer) <= count_of(*old);
        if (!newcomer_goes) admit(*newcomer);
      }
      const BlockRef& victim = newcomer_goes ? *newcomer : *old;
      for (RecencyList* list : {&window_, &probation_, &protected_}) list->remove(victim);
      out.push_back(victim);
    }
  }

 private:
  void count(LayerId layer, const BlockSet& blocks) {
    counts_.increment(layer, blocks);
    uses_ += blocks.count();
    for (; uses_ >= sample_; uses_ -= sample_) counts_.halve();
  }

  std::uint32_t count_of(const BlockRef& ref) const { return counts_.count(ref.layer, ref.block); }

  void admit(const BlockRef& ref) const {
    window_.remove(ref);
    probation_.touch(ref, clock_.now());
  }

  std::int64_t window_slots_, main_slots_, protected_slots_;
  std::int64_t sample_;
  std::int64_t uses_ = 0;
  HookClock clock_;
  ReuseFilter reuse_;
  BitCounters counts_;
  mutable RecencyList window_, probation_, protected_;
  BlockSet here_;  // scratch
};

}  // namespace

LEANSTREAM_CACHE_POLICY(WTinyLfu, "wtinylfu", "a window, then admission by how often it was used")

}  // namespace leanstream::policy
