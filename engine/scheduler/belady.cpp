#include "engine/scheduler/belady.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/check.h"

namespace leanstream::scheduler {
namespace {

constexpr std::int32_t kNeverAgain = -1;

// How many cached blocks are wanted next at each step. Blocks with the same next step are all hits
// there, whatever comes after, so counting them is enough: none has a name.
class CachedByNextUse {
 public:
  CachedByNextUse(std::int64_t steps, std::int64_t capacity)
      : counts_(static_cast<std::size_t>(steps)),
        occupied_(static_cast<std::size_t>(steps + 63) / 64),
        capacity_(capacity) {}

  void add(std::size_t step, std::int32_t blocks) {
    if (blocks == 0) return;
    counts_[step] += blocks;
    occupied_[step / 64] |= std::uint64_t{1} << (step % 64);
    farthest_word_ = std::max(farthest_word_, step / 64);
    total_ += blocks;
  }

  // The blocks wanted at this step, which leave the count: their next use is another.
  std::int32_t take(std::size_t step) {
    const std::int32_t blocks = counts_[step];
    counts_[step] = 0;
    occupied_[step / 64] &= ~(std::uint64_t{1} << (step % 64));
    total_ -= blocks;
    return blocks;
  }

  // Drops the blocks with the farthest next use until the rest fits.
  void shrink() {
    while (total_ > capacity_) {
      while (occupied_[farthest_word_] == 0) --farthest_word_;
      const std::size_t step =
          farthest_word_ * 64 + 63 -
          static_cast<std::size_t>(std::countl_zero(occupied_[farthest_word_]));
      const std::int64_t dropped = std::min<std::int64_t>(counts_[step], total_ - capacity_);
      counts_[step] -= static_cast<std::int32_t>(dropped);
      total_ -= dropped;
      if (counts_[step] == 0) occupied_[step / 64] &= ~(std::uint64_t{1} << (step % 64));
    }
  }

 private:
  std::vector<std::int32_t> counts_;
  std::vector<std::uint64_t> occupied_;  // bit i: counts_[i] > 0
  std::size_t farthest_word_ = 0;        // no word after it is occupied
  std::int64_t total_ = 0;
  std::int64_t capacity_;
};

}  // namespace

BeladyBound::BeladyBound(LayerId layers, BlockId blocks_per_layer)
    : blocks_per_layer_(blocks_per_layer),
      last_access_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(blocks_per_layer),
                   kNone) {}

void BeladyBound::reserve(std::int64_t steps, std::int64_t accesses) {
  step_begin_.reserve(static_cast<std::size_t>(steps) + 1);
  first_uses_.reserve(static_cast<std::size_t>(steps));
  next_step_.reserve(static_cast<std::size_t>(accesses));
}

void BeladyBound::add(LayerId layer, const BlockSet& wanted) {
  LEANSTREAM_CHECK(wanted.size() == blocks_per_layer_, "{} blocks, layers have {}", wanted.size(),
                   blocks_per_layer_);
  LEANSTREAM_CHECK(steps() < std::numeric_limits<std::int32_t>::max(), "{} steps", steps());
  const auto step = static_cast<std::int32_t>(steps());
  const std::size_t base =
      static_cast<std::size_t>(layer) * static_cast<std::size_t>(blocks_per_layer_);
  std::int32_t first = 0;
  wanted.for_each([&](BlockId b) {
    std::int64_t& last = last_access_.at(base + static_cast<std::size_t>(b));
    if (last == kNone) {
      ++first;
    } else {
      next_step_[static_cast<std::size_t>(last)] = step;
    }
    last = static_cast<std::int64_t>(next_step_.size());
    next_step_.push_back(kNeverAgain);
  });
  first_uses_.push_back(first);
  step_begin_.push_back(static_cast<std::int64_t>(next_step_.size()));
}

std::int64_t BeladyBound::accesses(std::int64_t from_step) const {
  LEANSTREAM_CHECK(from_step >= 0 && from_step <= steps(), "step {} of {}", from_step, steps());
  return step_begin_.back() - step_begin_[static_cast<std::size_t>(from_step)];
}

std::int64_t BeladyBound::misses(std::int64_t capacity, std::int64_t from_step,
                                 bool warm_start) const {
  LEANSTREAM_CHECK(capacity >= 0 && from_step >= 0, "capacity {}, step {}", capacity, from_step);
  CachedByNextUse cached(steps(), capacity);
  const auto from = static_cast<std::size_t>(std::min(from_step, steps()));
  for (std::int64_t a = 0; a < step_begin_[from]; ++a) {
    const std::int32_t next = next_step_[static_cast<std::size_t>(a)];
    if (next >= from_step) cached.add(static_cast<std::size_t>(next), 1);
  }
  for (std::size_t i = from; warm_start && i < first_uses_.size(); ++i) {
    cached.add(i, first_uses_[i]);
  }
  cached.shrink();
  std::int64_t missed = 0;
  for (std::size_t i = from; i + 1 < step_begin_.size(); ++i) {
    missed += step_begin_[i + 1] - step_begin_[i] - cached.take(i);
    for (std::int64_t a = step_begin_[i]; a < step_begin_[i + 1]; ++a) {
      const std::int32_t next = next_step_[static_cast<std::size_t>(a)];
      if (next != kNeverAgain) cached.add(static_cast<std::size_t>(next), 1);
    }
    cached.shrink();
  }
  return missed;
}

}  // namespace leanstream::scheduler
