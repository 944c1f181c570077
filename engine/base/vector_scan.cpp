#include "engine/base/vector_scan.h"

#include <bit>
#include <cstring>

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

// Needs vectors of 8 lanes or more, which all targets have for bytes.
void bits_above(std::span<const std::uint8_t> values, std::uint8_t limit,
                std::span<std::uint64_t> words) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto limits = hn::Set(d, limit);
  auto* bytes = reinterpret_cast<std::uint8_t*>(words.data());
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    hn::StoreMaskBits(d, hn::Gt(hn::LoadU(d, values.data() + i), limits), bytes + i / 8);
  }
  for (std::size_t at = i / 8; at < words.size() * 8; ++at) bytes[at] = 0;
  for (; i < values.size(); ++i) {
    if (values[i] > limit) words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
}

bool difference(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                std::span<std::uint64_t> out) {
  const hn::ScalableTag<std::uint64_t> d;
  auto any = hn::Zero(d);
  std::uint64_t rest = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= a.size(); i += hn::Lanes(d)) {
    const auto left = hn::AndNot(hn::LoadU(d, b.data() + i), hn::LoadU(d, a.data() + i));
    hn::StoreU(left, d, out.data() + i);
    any = hn::Or(any, left);
  }
  for (; i < a.size(); ++i) {
    out[i] = a[i] & ~b[i];
    rest |= out[i];
  }
  return rest != 0 || !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
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
HWY_EXPORT(bits_above);
HWY_EXPORT(difference);
HWY_EXPORT(total);
HWY_EXPORT(classes);

std::int32_t vector_count_above_bytes(std::span<const std::uint8_t> values, std::uint8_t limit) {
  return HWY_DYNAMIC_DISPATCH(count_above_bytes)(values, limit);
}

std::int32_t vector_count_above_words(std::span<const std::uint32_t> values, std::uint32_t limit) {
  return HWY_DYNAMIC_DISPATCH(count_above_words)(values, limit);
}

void vector_bits_above(std::span<const std::uint8_t> values, std::uint8_t limit,
                       std::span<std::uint64_t> words) {
  HWY_DYNAMIC_DISPATCH(bits_above)(values, limit, words);
}

bool vector_difference(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                       std::span<std::uint64_t> out) {
  return HWY_DYNAMIC_DISPATCH(difference)(a, b, out);
}

std::uint64_t vector_total(std::span<const std::uint32_t> values) {
  return HWY_DYNAMIC_DISPATCH(total)(values);
}

void vector_classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes) {
  HWY_DYNAMIC_DISPATCH(classes)(values, classes);
}

}  // namespace leanstream
#endif
