#include "engine/learn/clusters.h"

#include <algorithm>
#include <utility>

#include "engine/policy/place/chain.h"

namespace leanstream::learn {
namespace {

using policy::Coactivation;

constexpr int kMostRounds = 10;

// Full blocks of k of an order of neurons.
class Blocks {
 public:
  Blocks(const Coactivation& together, std::int32_t k, std::vector<std::int32_t>& order)
      : c_(together),
        k_(static_cast<std::size_t>(k)),
        order_(order),
        blocks_(order.size() / k_),
        own_(order.size()),
        joined_(order.size()),
        to_(blocks_) {
    for (std::size_t b = 0; b < blocks_; ++b) count_own(b);
  }

  std::size_t count() const { return blocks_; }
  std::span<const std::int32_t> of(std::size_t block) const {
    return std::span<const std::int32_t>(order_).subspan(block * k_, k_);
  }

  // Exchanges each neuron with the one of another block where that adds most; whether any was.
  bool exchange() {
    bool any = false;
    for (std::size_t p = 0; p < blocks_ * k_; ++p) {
      const auto [gain, with] = best(p);
      if (gain <= 0) continue;
      std::swap(order_[p], order_[with]);
      count_own(p / k_);
      count_own(with / k_);
      any = true;
    }
    return any;
  }

 private:
  std::int32_t together(std::int32_t i, std::int32_t j) const {
    return c_.row(i)[static_cast<std::size_t>(j)];
  }
  std::int32_t& own(std::int32_t i) { return own_[static_cast<std::size_t>(i)]; }

  // Of each neuron of a block, co-activation with the others there.
  void count_own(std::size_t block) {
    for (const std::int32_t i : of(block)) {
      own(i) = 0;
      for (const std::int32_t j : of(block)) own(i) += together(i, j);
    }
  }

  // What the neuron at p gains by changing places with one of another block: the most, and where.
  std::pair<std::int32_t, std::size_t> best(std::size_t p) {
    const std::int32_t i = order_[p];
    std::fill(joined_.begin(), joined_.end(), 0);  // of each neuron, with the others of i's block
    for (const std::int32_t m : of(p / k_)) {
      if (m == i) continue;
      const auto row = c_.row(m);
      for (std::size_t j = 0; j < joined_.size(); ++j) joined_[j] += row[j];
    }
    const auto row = c_.row(i);
    std::fill(to_.begin(), to_.end(), 0);  // of i with each block
    for (std::size_t q = 0; q < blocks_ * k_; ++q) {
      to_[q / k_] += row[static_cast<std::size_t>(order_[q])];
    }
    std::pair<std::int32_t, std::size_t> found{0, p};
    for (std::size_t b = 0; b < blocks_; ++b) {
      if (b == p / k_) continue;
      for (std::size_t q = b * k_; q < (b + 1) * k_; ++q) {
        const auto j = static_cast<std::size_t>(order_[q]);
        const std::int32_t gain = to_[b] - row[j] - own(i) + joined_[j] - own_[j];
        if (gain > found.first) found = {gain, q};
      }
    }
    return found;
  }

  const Coactivation& c_;
  std::size_t k_;
  std::vector<std::int32_t>& order_;
  std::size_t blocks_;
  std::vector<std::int32_t> own_;
  std::vector<std::int32_t> joined_;  // scratch
  std::vector<std::int32_t> to_;      // scratch
};

}  // namespace

std::vector<std::int32_t> order_by_clusters(const Coactivation& together, std::int32_t k) {
  auto order = policy::nearest_link_chain(
      together.ffn, [&](std::int32_t i, std::int32_t j) { return together.closeness(i, j); });
  Blocks blocks(together, k, order);
  for (int round = 0; k > 1 && round < kMostRounds && blocks.exchange(); ++round) {
  }
  const auto pairs = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(k);
  const auto chain = policy::nearest_link_chain(
      static_cast<std::int32_t>(blocks.count()), [&](std::int32_t a, std::int32_t b) {
        std::uint64_t sum = 0;
        for (const std::int32_t i : blocks.of(static_cast<std::size_t>(a))) {
          for (const std::int32_t j : blocks.of(static_cast<std::size_t>(b))) {
            sum += together.closeness(i, j);
          }
        }
        return static_cast<std::uint32_t>(sum / pairs);
      });
  std::vector<std::int32_t> out;
  for (const std::int32_t b : chain) {
    const auto block = blocks.of(static_cast<std::size_t>(b));
    out.insert(out.end(), block.begin(), block.end());
  }
  out.insert(out.end(), order.begin() + static_cast<std::ptrdiff_t>(out.size()), order.end());
  return out;
}

}  // namespace leanstream::learn
