#include "engine/base/top_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/vector_scan.h"

namespace leanstream {
namespace {

// The largest number of 0 … `high` that at least `count` of the values reach. `guess`, if not 0,
// and its neighbours are tried first.
template <typename T>
T cut_of(std::span<const T> values, std::int32_t count, T high, T guess = 0) {
  T low = 0;  // is reached
  const auto look_at = [&](T cut) {
    if (cut <= low || cut > high) return;
    if (vector_count_above(values, static_cast<T>(cut - 1)) >= count) {
      low = cut;
    } else {
      high = static_cast<T>(cut - 1);
    }
  };
  if (guess != 0) {
    look_at(guess);
    look_at(static_cast<T>(guess + 1));
    look_at(static_cast<T>(guess - 1));
  }
  while (low < high) look_at(static_cast<T>(low + (high - low + 1) / 2));
  return low;
}

constexpr std::uint32_t kHighest = 0x7fffffff;  // of the values

}  // namespace

std::uint8_t class_of(std::uint32_t value) {
  if (value == 0) return 0;
  const auto bits =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(value)));
  return static_cast<std::uint8_t>((bits >> 20) - (127U << 3));
}

void classes_of(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes) {
  LEANSTREAM_CHECK(values.size() == classes.size(), "{} values, {} classes", values.size(),
                   classes.size());
  vector_classes(values, classes);
}

// Of those that are equal to the cut as many as are left to take.
Cut TopChoice::take_equal(TokenId token, std::int32_t count, BlockSet& out) {
  const std::int32_t left = count - out.count();
  const std::int32_t tied = equal_.count();
  if (tied == left) {
    out |= equal_;
    return {tied, left};
  }
  candidates_.clear();
  equal_.list(candidates_);
  by_hash_.clear();
  for (const BlockId i : candidates_) {
    by_hash_.emplace_back(mix(static_cast<std::uint64_t>(token), static_cast<std::uint64_t>(i)), i);
  }
  std::nth_element(by_hash_.begin(), by_hash_.begin() + left, by_hash_.end(), std::greater<>());
  for (std::int32_t i = 0; i < left; ++i) out.set(by_hash_[static_cast<std::size_t>(i)].second);
  return {tied, left};
}

// Those above the cut go to `out`, those equal to it to equal_.
void TopChoice::split(std::span<const std::uint8_t> values, std::int32_t count, BlockSet& out) {
  LEANSTREAM_CHECK(
      static_cast<std::size_t>(out.size()) == values.size() && count >= 1 && count <= out.size(),
      "{} of {} into a set of {}", count, values.size(), out.size());
  last_cut_ = cut_of<std::uint8_t>(values, count, 255, last_cut_);
  if (equal_.size() != out.size()) equal_ = BlockSet(out.size());
  vector_split(values, last_cut_, out.words(), equal_.words());
}

Cut TopChoice::choose(std::span<const std::uint8_t> values, TokenId token, std::int32_t count,
                      BlockSet& out) {
  split(values, count, out);
  return take_equal(token, count, out);
}

// The class of the cut is found first: few values are in it.
Cut TopChoice::choose(std::span<const std::uint32_t> values, std::span<const std::uint8_t> classes,
                      TokenId token, std::int32_t count, BlockSet& out) {
  split(classes, count, out);
  keys_.resize(values.size());
  const auto keys =
      std::span<const std::uint32_t>(keys_).first(vector_members(values, equal_.words(), keys_));
  const auto cut = cut_of<std::uint32_t>(keys, count - out.count(), kHighest);
  vector_split_further(values, cut, out.words(), equal_.words());
  return take_equal(token, count, out);
}

}  // namespace leanstream
