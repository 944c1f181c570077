#include "engine/scheduler/first_layer.h"

#include <algorithm>
#include <numeric>

namespace leanstream::scheduler {

FirstLayer::FirstLayer(LayerZero rule, BlockId blocks)
    : rule_(rule),
      last_(blocks),
      last_priority_(static_cast<std::size_t>(blocks)),
      uses_(static_cast<std::size_t>(blocks)),
      order_(static_cast<std::size_t>(blocks)) {}

void FirstLayer::used(const BlockSet& blocks, std::span<const std::uint8_t> priority) {
  last_ = blocks;
  std::copy(priority.begin(), priority.end(), last_priority_.begin());
  blocks.for_each([&](BlockId b) { ++uses_[static_cast<std::size_t>(b)]; });
}

// `hottest`: as many blocks as the last token wanted, those with the most uses; of equal ones the
// lower blocks. Their priority is the share of the highest use count.
void FirstLayer::guess(BlockSet& wanted, std::span<std::uint8_t> priority) {
  if (rule_ == LayerZero::previous_token) {
    wanted = last_;
    std::copy(last_priority_.begin(), last_priority_.end(), priority.begin());
    return;
  }
  const auto count = static_cast<std::ptrdiff_t>(last_.count());
  std::iota(order_.begin(), order_.end(), BlockId{0});
  const auto hotter = [&](BlockId a, BlockId b) {
    const auto x = uses_[static_cast<std::size_t>(a)];
    const auto y = uses_[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::nth_element(order_.begin(), order_.begin() + count, order_.end(), hotter);
  wanted.clear();
  for (std::ptrdiff_t i = 0; i < count; ++i) wanted.set(order_[static_cast<std::size_t>(i)]);
  const std::uint64_t most =
      std::max<std::uint64_t>(1, *std::max_element(uses_.begin(), uses_.end()));
  for (std::size_t b = 0; b < uses_.size(); ++b) {
    priority[b] = static_cast<std::uint8_t>(uses_[b] * std::uint64_t{255} / most);
  }
}

}  // namespace leanstream::scheduler
