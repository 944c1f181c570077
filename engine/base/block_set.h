// A set of the blocks (or neurons) of one layer as a bitset. 7,168 blocks are 112 words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/base/types.h"

namespace leanstream {

// Invariant: bits at and above size() are zero. Binary operations need equal sizes.
class BlockSet {
 public:
  using Word = std::uint64_t;
  static constexpr BlockId kWordBits = 64;

  BlockSet() = default;
  explicit BlockSet(BlockId size)
      : size_(size), words_(static_cast<std::size_t>((size + kWordBits - 1) / kWordBits)) {}

  BlockId size() const { return size_; }
  std::span<const Word> words() const { return words_; }
  std::span<Word> words() { return words_; }

  bool test(BlockId b) const { return (words_[index(b)] >> (b % kWordBits)) & 1U; }
  void set(BlockId b) { words_[index(b)] |= Word{1} << (b % kWordBits); }
  void set_if(BlockId b, bool condition) {
    words_[index(b)] |= Word{condition ? 1U : 0U} << (b % kWordBits);
  }
  void reset(BlockId b) { words_[index(b)] &= ~(Word{1} << (b % kWordBits)); }

  void clear() { std::fill(words_.begin(), words_.end(), Word{0}); }
  void fill() {
    std::fill(words_.begin(), words_.end(), ~Word{0});
    if (size_ % kWordBits != 0) words_.back() = (Word{1} << (size_ % kWordBits)) - 1;
  }

  BlockId count() const {
    BlockId n = 0;
    for (const Word w : words_) n += std::popcount(w);
    return n;
  }
  bool empty() const {
    for (const Word w : words_) {
      if (w != 0) return false;
    }
    return true;
  }

  BlockSet& operator|=(const BlockSet& o) {
    return apply(o, [](Word a, Word b) { return a | b; });
  }
  BlockSet& operator&=(const BlockSet& o) {
    return apply(o, [](Word a, Word b) { return a & b; });
  }
  BlockSet& operator-=(const BlockSet& o) {
    return apply(o, [](Word a, Word b) { return a & ~b; });
  }
  friend bool operator==(const BlockSet&, const BlockSet&) = default;

  // |this ∩ other|
  BlockId count_common(const BlockSet& other) const {
    BlockId n = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) n += std::popcount(words_[i] & other.words_[i]);
    return n;
  }

  // Calls visit(block) for each member, in rising order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (Word w = words_[i]; w != 0; w &= w - 1) {
        visit(static_cast<BlockId>(i * kWordBits) + static_cast<BlockId>(std::countr_zero(w)));
      }
    }
  }

  // Appends the members in rising order. For long lists much faster than for_each: four members of
  // a word are written whether there are so many or not, so that no branch hangs on a single bit.
  void list(std::vector<BlockId>& out) const {
    constexpr int kAtOnce = 4;
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(count()) + kAtOnce - 1);
    BlockId* end = out.data() + before;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto base = static_cast<BlockId>(i * kWordBits);
      BlockId* at = end;
      end += std::popcount(words_[i]);
      for (Word w = words_[i]; w != 0; at += kAtOnce) {
        for (int j = 0; j < kAtOnce; ++j, w &= w - 1) {
          at[j] = base + static_cast<BlockId>(std::countr_zero(w));
        }
      }
    }
    out.resize(static_cast<std::size_t>(end - out.data()));
  }

  // Calls visit(block) for each member, in rising order, while it returns true.
  template <typename Visit>
  void for_each_while(Visit&& visit) const {
    for_each_common(*this, visit);
  }

  // The same for each member of both.
  template <typename Visit>
  void for_each_common(const BlockSet& other, Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (Word w = words_[i] & other.words_[i]; w != 0; w &= w - 1) {
        if (!visit(static_cast<BlockId>(i * kWordBits) +
                   static_cast<BlockId>(std::countr_zero(w)))) {
          return;
        }
      }
    }
  }

 private:
  static std::size_t index(BlockId b) { return static_cast<std::size_t>(b / kWordBits); }

  template <typename Op>
  BlockSet& apply(const BlockSet& o, Op op) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = op(words_[i], o.words_[i]);
    return *this;
  }

  BlockId size_ = 0;
  std::vector<Word> words_;
};

}  // namespace leanstream
