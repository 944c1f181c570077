#include "traces/eviction_lists.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/base/check.h"

namespace leanstream::traces {

EvictionLists::EvictionLists(std::int64_t neurons, std::int64_t lists)
    : neurons_(static_cast<std::int32_t>(neurons)),
      next_(static_cast<std::size_t>(neurons + lists), kOut),
      previous_(next_),
      last_use_(static_cast<std::size_t>(neurons), -1) {
  LEANSTREAM_CHECK(neurons + lists < std::numeric_limits<std::int32_t>::max(), "{} neurons",
                   neurons);
  const auto heads = static_cast<std::ptrdiff_t>(neurons);
  std::iota(next_.begin() + heads, next_.end(), neurons_);
  std::iota(previous_.begin() + heads, previous_.end(), neurons_);
}

void EvictionLists::unlink(std::int32_t id) {
  next_[at(previous_[at(id)])] = next_[at(id)];
  previous_[at(next_[at(id)])] = previous_[at(id)];
  next_[at(id)] = kOut;
}

void EvictionLists::use(std::int32_t id, std::int64_t list, std::int32_t step) {
  if (contains(id)) {
    unlink(id);
  } else {
    ++size_;
  }
  const auto number = static_cast<std::int32_t>(list);
  const std::int32_t head = neurons_ + number;
  const std::int32_t tail = previous_[at(head)];
  next_[at(tail)] = previous_[at(head)] = id;
  previous_[at(id)] = tail;
  next_[at(id)] = head;
  last_use_[at(id)] = step;
  first_ = std::min(first_, number);
}

// Evicts up to `count` neurons that were last used before `step`; the number evicted. A list is in
// order of last use, so the first one of this step ends it.
std::int64_t EvictionLists::evict_before(std::int64_t count, std::int32_t step) {
  const auto lists = static_cast<std::int32_t>(next_.size()) - neurons_;
  while (first_ + 1 < lists && next_[at(neurons_ + first_)] == neurons_ + first_) ++first_;
  std::int64_t evicted = 0;
  for (std::int32_t l = first_; l < lists && evicted < count; ++l) {
    const std::int32_t head = neurons_ + l;
    while (evicted < count && next_[at(head)] != head && last_use_[at(next_[at(head)])] < step) {
      unlink(next_[at(head)]);
      ++evicted;
    }
  }
  size_ -= evicted;
  return evicted;
}

void EvictionLists::evict(std::int64_t count, std::int32_t step) {
  LEANSTREAM_CHECK(count <= size_, "{} of {}", count, size_);
  const std::int64_t evicted = evict_before(count, step);
  if (evicted < count) evict_before(count - evicted, step + 1);
}

}  // namespace leanstream::traces
