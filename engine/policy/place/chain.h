// A chain of things in which close ones are neighbours, built by nearest links: of all pairs the
// closest is linked first, as long as neither end has two links and they are not of one chain
// (Ripple, arXiv 2410.19274, section 4). That is a greedy Hamiltonian path.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace leanstream::policy {

// Chains of 0 … count − 1 while they grow. Of a chain only its ends can take links, so it is enough
// to know the other end of each.
class Chains {
 public:
  explicit Chains(std::int32_t count)
      : other_(static_cast<std::size_t>(count)), links_(static_cast<std::size_t>(count)) {
    std::iota(other_.begin(), other_.end(), 0);
    links_.assign(other_.size(), {-1, -1});
  }

  std::int32_t left() const { return static_cast<std::int32_t>(other_.size()) - 1 - made_; }
  bool is_end(std::int32_t i) const { return links_[at(i)][1] < 0; }
  bool can_link(std::int32_t i, std::int32_t j) const {
    return i != j && is_end(i) && is_end(j) && other_[at(i)] != j;
  }
  void link(std::int32_t i, std::int32_t j) {
    for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
      auto& links = links_[at(from)];
      links[links[0] < 0 ? 0 : 1] = to;
    }
    const std::int32_t a = other_[at(i)], b = other_[at(j)];
    other_[at(a)] = b;
    other_[at(b)] = a;
    ++made_;
  }
  std::vector<std::int32_t> ends() const {
    std::vector<std::int32_t> out;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(other_.size()); ++i) {
      if (is_end(i)) out.push_back(i);
    }
    return out;
  }
  // The one chain, from its lower end; left() is 0.
  std::vector<std::int32_t> order() const {
    std::vector<std::int32_t> out;
    for (std::int32_t before = -1, here = other_.empty() ? -1 : ends().front(); here >= 0;) {
      out.push_back(here);
      const auto& links = links_[at(here)];
      const std::int32_t next = links[0] == before ? links[1] : links[0];
      before = std::exchange(here, next);
    }
    return out;
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::vector<std::int32_t> other_;  // end of the chain, of those that are ends
  std::vector<std::array<std::int32_t, 2>> links_;
  std::int32_t made_ = 0;
};

// closeness(i, j), i < j, is a std::uint32_t. Of equally close pairs that with the lower i, then
// the lower j, goes first. Looks at all pairs of ends a few times; holds about `most_pairs` of them
// at once.
template <typename Closeness>
std::vector<std::int32_t> nearest_link_chain(std::int32_t count, Closeness&& closeness,
                                             std::int64_t most_pairs = std::int64_t{1} << 22) {
  struct Pair {
    std::uint32_t closeness;
    std::int32_t i, j;
  };
  constexpr int kShift = 16;  // classes of closeness
  Chains chains(count);
  std::vector<std::int64_t> of_class(std::size_t{1} << kShift);
  std::vector<Pair> pairs;
  while (chains.left() > 0) {
    const auto ends = chains.ends();
    const auto each = [&](auto&& visit) {
      for (std::size_t a = 0; a < ends.size(); ++a) {
        for (std::size_t b = a + 1; b < ends.size(); ++b) {
          if (chains.can_link(ends[a], ends[b])) {
            visit(ends[a], ends[b], closeness(ends[a], ends[b]));
          }
        }
      }
    };
    std::fill(of_class.begin(), of_class.end(), 0);
    std::uint32_t closest = 0;
    each([&](std::int32_t, std::int32_t, std::uint32_t c) {
      ++of_class[c >> kShift];
      closest = std::max(closest, c);
    });
    // The highest classes that are few enough; all other pairs come later.
    std::int64_t sum = 0;
    std::size_t lowest = of_class.size();
    while (lowest > 0 && sum + of_class[lowest - 1] <= most_pairs) sum += of_class[--lowest];
    if (sum == 0) {  // a class that is too large: only what is closest, in order
      each([&](std::int32_t i, std::int32_t j, std::uint32_t c) {
        if (c == closest && chains.can_link(i, j)) chains.link(i, j);
      });
      continue;
    }
    pairs.clear();
    each([&](std::int32_t i, std::int32_t j, std::uint32_t c) {
      if (c >> kShift >= lowest) pairs.push_back({c, i, j});
    });
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      if (a.closeness != b.closeness) return a.closeness > b.closeness;
      return a.i != b.i ? a.i < b.i : a.j < b.j;
    });
    for (const Pair& p : pairs) {
      if (chains.can_link(p.i, p.j)) chains.link(p.i, p.j);
    }
  }
  return chains.order();
}

}  // namespace leanstream::policy
