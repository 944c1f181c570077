#include "engine/base/vector_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

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

using Words = std::span<const std::uint64_t>;

// Whether a without `others`… has members; it goes to `out`.
template <typename... Others>
bool subtract(std::span<std::uint64_t> out, Words a, Others... others) {
  const hn::ScalableTag<std::uint64_t> d;
  auto any = hn::Zero(d);
  std::uint64_t rest = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= a.size(); i += hn::Lanes(d)) {
    auto left = hn::LoadU(d, a.data() + i);
    ((left = hn::AndNot(hn::LoadU(d, others.data() + i), left)), ...);
    hn::StoreU(left, d, out.data() + i);
    any = hn::Or(any, left);
  }
  for (; i < a.size(); ++i) {
    out[i] = a[i] & ~(others[i] | ...);
    rest |= out[i];
  }
  return rest != 0 || !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

bool without(Words a, Words b, Words c, Words d, std::span<std::uint64_t> out) {
  return subtract(out, a, b, c, d);
}

std::int32_t common(Words a, Words b, std::span<std::uint64_t> out) {
  const hn::ScalableTag<std::uint64_t> d;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= a.size(); i += hn::Lanes(d)) {
    const auto both = hn::And(hn::LoadU(d, a.data() + i), hn::LoadU(d, b.data() + i));
    hn::StoreU(both, d, out.data() + i);
    sum = hn::Add(sum, hn::PopulationCount(both));
  }
  auto count = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
  for (; i < a.size(); ++i) count += std::popcount(out[i] = a[i] & b[i]);
  return count;
}

std::int32_t look_up(Words asked, Words there, std::span<std::uint64_t> missing,
                     std::span<std::uint64_t> others) {
  const hn::ScalableTag<std::uint64_t> d;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= asked.size(); i += hn::Lanes(d)) {
    const auto a = hn::LoadU(d, asked.data() + i);
    const auto b = hn::LoadU(d, there.data() + i);
    const auto out = hn::AndNot(b, a);
    hn::StoreU(out, d, missing.data() + i);
    hn::StoreU(hn::AndNot(a, b), d, others.data() + i);
    sum = hn::Add(sum, hn::PopulationCount(out));
  }
  auto count = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
  for (; i < asked.size(); ++i) {
    count += std::popcount(missing[i] = asked[i] & ~there[i]);
    others[i] = there[i] & ~asked[i];
  }
  return count;
}

bool remove(std::span<std::uint64_t> set, Words gone) {
  return subtract(set, Words(set), gone);
}

std::int32_t below(Words from, std::span<const BlockSet> planes, std::uint32_t limit,
                   std::span<std::uint64_t> out) {
  const hn::ScalableTag<std::uint64_t> d;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= from.size(); i += hn::Lanes(d)) {
    auto equal = hn::LoadU(d, from.data() + i);
    auto less = hn::Zero(d);
    for (std::size_t p = planes.size(); p-- > 0;) {
      const auto plane = hn::LoadU(d, planes[p].words().data() + i);
      if ((limit >> p & 1U) != 0) {
        less = hn::Or(less, hn::AndNot(plane, equal));
        equal = hn::And(equal, plane);
      } else {
        equal = hn::AndNot(plane, equal);
      }
    }
    hn::StoreU(less, d, out.data() + i);
    sum = hn::Add(sum, hn::PopulationCount(less));
  }
  auto count = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
  for (; i < from.size(); ++i) {
    std::uint64_t equal = from[i];
    std::uint64_t less = 0;
    for (std::size_t p = planes.size(); p-- > 0;) {
      const std::uint64_t plane = planes[p].words()[i];
      if ((limit >> p & 1U) != 0) less |= equal & ~plane;
      equal &= (limit >> p & 1U) != 0 ? plane : ~plane;
    }
    out[i] = less;
    count += std::popcount(less);
  }
  return count;
}

bool numbered(Words from, std::span<const BlockSet> planes, std::uint32_t number,
              std::span<std::uint64_t> out) {
  const hn::ScalableTag<std::uint64_t> d;
  auto any = hn::Zero(d);
  std::uint64_t rest = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= from.size(); i += hn::Lanes(d)) {
    auto in = hn::LoadU(d, from.data() + i);
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const auto plane = hn::LoadU(d, planes[p].words().data() + i);
      in = (number >> p & 1U) != 0 ? hn::And(in, plane) : hn::AndNot(plane, in);
    }
    hn::StoreU(in, d, out.data() + i);
    any = hn::Or(any, in);
  }
  for (; i < from.size(); ++i) {
    out[i] = from[i];
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const std::uint64_t plane = planes[p].words()[i];
      out[i] &= (number >> p & 1U) != 0 ? plane : ~plane;
    }
    rest |= out[i];
  }
  return rest != 0 || !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

// The buffers take turns, so that a plane that would leave nothing leaves all.
std::uint32_t lowest(Words from, std::span<const BlockSet> planes, std::span<std::uint64_t> out,
                     std::span<std::uint64_t> scratch) {
  std::uint32_t number = 0;
  Words now = from;
  auto next = out;
  auto other = scratch;
  for (std::size_t p = planes.size(); p-- > 0;) {
    if (subtract(next, now, planes[p].words())) {
      now = next;
      std::swap(next, other);
    } else {
      number |= 1U << p;
    }
  }
  if (now.data() != out.data()) std::copy(now.begin(), now.end(), out.begin());
  return number;
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
HWY_EXPORT(without);
HWY_EXPORT(common);
HWY_EXPORT(look_up);
HWY_EXPORT(remove);
HWY_EXPORT(below);
HWY_EXPORT(numbered);
HWY_EXPORT(lowest);
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

bool vector_without(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                    std::span<const std::uint64_t> c, std::span<const std::uint64_t> d,
                    std::span<std::uint64_t> out) {
  return HWY_DYNAMIC_DISPATCH(without)(a, b, c, d, out);
}

std::int32_t vector_common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           std::span<std::uint64_t> out) {
  return HWY_DYNAMIC_DISPATCH(common)(a, b, out);
}

std::int32_t vector_look_up(std::span<const std::uint64_t> asked,
                            std::span<const std::uint64_t> there, std::span<std::uint64_t> missing,
                            std::span<std::uint64_t> others) {
  return HWY_DYNAMIC_DISPATCH(look_up)(asked, there, missing, others);
}

bool vector_remove(std::span<std::uint64_t> set, std::span<const std::uint64_t> gone) {
  return HWY_DYNAMIC_DISPATCH(remove)(set, gone);
}

std::int32_t vector_below(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                          std::uint32_t limit, std::span<std::uint64_t> out) {
  return HWY_DYNAMIC_DISPATCH(below)(from, planes, limit, out);
}

bool vector_numbered(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                     std::uint32_t number, std::span<std::uint64_t> out) {
  return HWY_DYNAMIC_DISPATCH(numbered)(from, planes, number, out);
}

std::uint32_t vector_lowest(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                            std::span<std::uint64_t> out, std::span<std::uint64_t> scratch) {
  return HWY_DYNAMIC_DISPATCH(lowest)(from, planes, out, scratch);
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
