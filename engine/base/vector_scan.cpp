#include "engine/base/vector_scan.h"

#include <algorithm>
#include <bit>

// Highway 1.0.3 does not compile for this target unless told, and fails where -march=native means
// it; the one below serves such processors.
#define HWY_DISABLED_TARGETS HWY_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/base/vector_scan.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include "engine/base/top_choice.h"

HWY_BEFORE_NAMESPACE();
namespace leanstream {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
std::int32_t count_above(std::span<const T> values, T limit) {
  const hn::ScalableTag<T> d;
  const auto limits = hn::Set(d, limit);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    count += hn::CountTrue(d, hn::Gt(hn::LoadU(d, values.data() + i), limits));
  }
  for (; i < values.size(); ++i) count += values[i] > limit ? 1 : 0;
  return static_cast<std::int32_t>(count);
}

std::int32_t count_above_bytes(std::span<const std::uint8_t> values, std::uint8_t limit) {
  return count_above(values, limit);
}

std::int32_t count_above_words(std::span<const std::uint32_t> values, std::uint32_t limit) {
  return count_above(values, limit);
}

// Bit i of `words` is holds(values[i]).
template <typename T, typename Holds>
void write_bits(std::span<const T> values, std::span<std::uint64_t> words, Holds holds) {
  const hn::ScalableTag<T> d;
  std::fill(words.begin(), words.end(), 0);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, holds(hn::LoadU(d, values.data() + i)),
                      reinterpret_cast<std::uint8_t*>(&bits));
    words[i / 64] |= bits << (i % 64);
  }
  for (; i < values.size(); ++i) {
    const bool held = hn::CountTrue(d, holds(hn::Set(d, values[i]))) > 0;
    words[i / 64] |= std::uint64_t{held} << (i % 64);
  }
}

void filled(std::span<const std::uint64_t> values, std::span<std::uint64_t> words) {
  const auto zero = hn::Zero(hn::ScalableTag<std::uint64_t>());
  write_bits(values, words, [&](auto v) { return hn::Ne(v, zero); });
}

void split(std::span<const std::uint8_t> values, std::uint8_t cut, std::span<std::uint64_t> above,
           std::span<std::uint64_t> equal) {
  const auto cuts = hn::Set(hn::ScalableTag<std::uint8_t>(), cut);
  write_bits(values, above, [&](auto v) { return hn::Gt(v, cuts); });
  write_bits(values, equal, [&](auto v) { return hn::Eq(v, cuts); });
}

void split_further(std::span<const std::uint32_t> values, std::uint32_t cut,
                   std::span<std::uint64_t> above, std::span<std::uint64_t> equal) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto cuts = hn::Set(d, cut);
  for (std::size_t w = 0; w < equal.size(); ++w) {
    if (equal[w] == 0) continue;
    const std::size_t end = std::min(values.size(), w * 64 + 64);
    std::uint64_t more = 0;
    std::uint64_t same = 0;
    std::size_t i = w * 64;
    for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, values.data() + i);
      std::uint64_t bits = 0;
      hn::StoreMaskBits(d, hn::Gt(v, cuts), reinterpret_cast<std::uint8_t*>(&bits));
      more |= bits << (i % 64);
      bits = 0;
      hn::StoreMaskBits(d, hn::Eq(v, cuts), reinterpret_cast<std::uint8_t*>(&bits));
      same |= bits << (i % 64);
    }
    for (; i < end; ++i) {
      more |= std::uint64_t{values[i] > cut} << (i % 64);
      same |= std::uint64_t{values[i] == cut} << (i % 64);
    }
    above[w] |= more & equal[w];
    equal[w] &= same;
  }
}

std::size_t members(std::span<const std::uint32_t> values, std::span<const std::uint64_t> words,
                    std::span<std::uint32_t> out) {
  const hn::ScalableTag<std::uint32_t> d;
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    const std::uint64_t bits = words[i / 64] >> (i % 64);
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    count += hn::CompressStore(hn::LoadU(d, values.data() + i), mask, d, out.data() + count);
  }
  for (; i < values.size(); ++i) {
    if ((words[i / 64] >> (i % 64) & 1) != 0) out[count++] = values[i];
  }
  return count;
}

std::uint64_t total(std::span<const std::uint32_t> values) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint32_t, decltype(d)> narrow;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(narrow, values.data() + i)));
  }
  std::uint64_t all = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < values.size(); ++i) all += values[i];
  return all;
}

std::uint64_t total_of(std::span<const std::uint32_t> values,
                       std::span<const std::uint64_t> words) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint32_t, decltype(d)> narrow;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    const std::uint64_t bits = words[i / 64] >> (i % 64);
    const auto chosen = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    const auto wide = hn::PromoteTo(d, hn::LoadU(narrow, values.data() + i));
    sum = hn::Add(sum, hn::IfThenElseZero(chosen, wide));
  }
  std::uint64_t all = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < values.size(); ++i) all += (words[i / 64] >> (i % 64) & 1) * values[i];
  return all;
}

void classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> out) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const auto bias = hn::Set(d, 127 << 3);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    const auto v = hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<decltype(d)>(), &values[i]));
    const hn::RebindToFloat<decltype(d)> f;
    const auto exponent = hn::ShiftRight<20>(hn::BitCast(d, hn::ConvertTo(f, v)));
    const auto wide = hn::Max(hn::Sub(exponent, bias), hn::Zero(d));  // the float 0 has bits 0
    hn::StoreU(hn::DemoteTo(bytes, wide), bytes, out.data() + i);
  }
  for (; i < values.size(); ++i) out[i] = class_of(values[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace leanstream
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leanstream {

static_assert(std::endian::native == std::endian::little, "bits are written as bytes");

HWY_EXPORT(count_above_bytes);
HWY_EXPORT(count_above_words);
HWY_EXPORT(split);
HWY_EXPORT(split_further);
HWY_EXPORT(members);
HWY_EXPORT(filled);
HWY_EXPORT(total);
HWY_EXPORT(total_of);
HWY_EXPORT(classes);

std::int32_t vector_count_above(std::span<const std::uint8_t> values, std::uint8_t limit) {
  return HWY_DYNAMIC_DISPATCH(count_above_bytes)(values, limit);
}

std::int32_t vector_count_above(std::span<const std::uint32_t> values, std::uint32_t limit) {
  return HWY_DYNAMIC_DISPATCH(count_above_words)(values, limit);
}

void vector_split(std::span<const std::uint8_t> values, std::uint8_t cut,
                  std::span<std::uint64_t> above, std::span<std::uint64_t> equal) {
  HWY_DYNAMIC_DISPATCH(split)(values, cut, above, equal);
}

void vector_split_further(std::span<const std::uint32_t> values, std::uint32_t cut,
                          std::span<std::uint64_t> above, std::span<std::uint64_t> equal) {
  HWY_DYNAMIC_DISPATCH(split_further)(values, cut, above, equal);
}

std::size_t vector_members(std::span<const std::uint32_t> values,
                           std::span<const std::uint64_t> words, std::span<std::uint32_t> out) {
  return HWY_DYNAMIC_DISPATCH(members)(values, words, out);
}

void vector_filled(std::span<const std::uint64_t> words, std::span<std::uint64_t> out) {
  HWY_DYNAMIC_DISPATCH(filled)(words, out);
}

std::uint64_t vector_total(std::span<const std::uint32_t> values) {
  return HWY_DYNAMIC_DISPATCH(total)(values);
}

std::uint64_t vector_total_of(std::span<const std::uint32_t> values,
                              std::span<const std::uint64_t> words) {
  return HWY_DYNAMIC_DISPATCH(total_of)(values, words);
}

void vector_classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes) {
  HWY_DYNAMIC_DISPATCH(classes)(values, classes);
}

}  // namespace leanstream
#endif
