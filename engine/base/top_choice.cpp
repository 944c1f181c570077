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

// The largest threshold that at least `count` values reach: count_above(t − 1) ≥ count.
template <typename T, typename CountAbove>
T cut_of(std::span<const T> values, std::int32_t count, T highest, CountAbove count_above) {
  T low = 0;  // always reached
  T high = highest;
  while (low < high) {
    const auto middle = static_cast<T>(low + (high - low + 1) / 2);
    if (count_above(values, static_cast<T>(middle - 1)) >= count) {
      low = middle;
    } else {
      high = static_cast<T>(middle - 1);
    }
  }
  return low;
}

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

// What lies above the class of the cut goes to `out`, the class itself to candidates_.
void TopChoice::find(std::span<const std::uint8_t> classes, std::int32_t count, BlockSet& out) {
  LEANSTREAM_CHECK(
      static_cast<std::size_t>(out.size()) == classes.size() && count >= 1 && count <= out.size(),
      "{} of {} into a set of {}", count, classes.size(), out.size());
  const std::uint8_t cut = cut_of<std::uint8_t>(classes, count, 255, vector_count_above_bytes);
  vector_bits_above(classes, cut, out.words());
  at_least_ = out;  // for its size
  if (cut == 0) {
    at_least_.fill();
  } else {
    vector_bits_above(classes, static_cast<std::uint8_t>(cut - 1), at_least_.words());
  }
  left_ = count - out.count();
  at_least_ -= out;
  candidates_.clear();
  at_least_.for_each([&](BlockId i) { candidates_.push_back(i); });
}

Cut TopChoice::take_by_hash(TokenId token, std::int32_t count, BlockSet& out) {
  const auto tied = static_cast<std::int32_t>(candidates_.size());
  if (tied == count) {
    for (const BlockId i : candidates_) out.set(i);
    return {tied, count};
  }
  by_hash_.clear();
  for (const BlockId i : candidates_) {
    by_hash_.emplace_back(mix(static_cast<std::uint64_t>(token), static_cast<std::uint64_t>(i)), i);
  }
  std::nth_element(by_hash_.begin(), by_hash_.begin() + count, by_hash_.end(), std::greater<>());
  for (std::int32_t i = 0; i < count; ++i) out.set(by_hash_[static_cast<std::size_t>(i)].second);
  return {tied, count};
}

Cut TopChoice::choose(std::span<const std::uint8_t> values, TokenId token, std::int32_t count,
                      BlockSet& out) {
  find(values, count, out);
  return take_by_hash(token, left_, out);
}

Cut TopChoice::choose(std::span<const std::uint32_t> values, std::span<const std::uint8_t> classes,
                      TokenId token, std::int32_t count, BlockSet& out) {
  find(classes, count, out);
  keys_.clear();
  std::uint32_t highest = 0;
  for (const BlockId i : candidates_) {
    keys_.push_back(values[static_cast<std::size_t>(i)]);
    highest = std::max(highest, keys_.back());
  }
  const auto cut = cut_of<std::uint32_t>(keys_, left_, highest, vector_count_above_words);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (keys_[i] > cut) {
      out.set(candidates_[i]);
      --left_;
    } else if (keys_[i] == cut) {
      candidates_[kept++] = candidates_[i];
    }
  }
  candidates_.resize(kept);
  return take_by_hash(token, left_, out);
}

}  // namespace leanstream
