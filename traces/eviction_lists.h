// Cached neurons in eviction order: a list for each use count, each from the one used longest ago
// to the newest. Dense linked arrays; a use is O(1).
#pragma once

#include <cstdint>
#include <vector>

namespace leanstream::traces {

class EvictionLists {
 public:
  // Ids 0 … neurons − 1 and lists 0 … lists − 1; list 0 is evicted first.
  EvictionLists(std::int64_t neurons, std::int64_t lists);

  bool contains(std::int32_t id) const { return next_[at(id)] != kOut; }
  std::int64_t size() const { return size_; }

  // Puts the neuron at the end of a list, wherever it was before.
  void use(std::int32_t id, std::int64_t list, std::int32_t step);

  // Removes `count` ≤ size() neurons, first list first, those of the current step last.
  void evict(std::int64_t count, std::int32_t step);

 private:
  static constexpr std::int32_t kOut = -1;
  static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

  void unlink(std::int32_t id);
  std::int64_t evict_before(std::int64_t count, std::int32_t step);

  // Rings: element neurons_ + l is the head of list l.
  std::int32_t neurons_;
  std::vector<std::int32_t> next_, previous_;
  std::vector<std::int32_t> last_use_;  // the step, by neuron
  std::int32_t first_ = 0;              // no list before it has a member
  std::int64_t size_ = 0;
};

}  // namespace leanstream::traces
