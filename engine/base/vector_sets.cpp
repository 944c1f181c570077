#include "engine/base/vector_sets.h"

#include <algorithm>
#include <bit>
#include <utility>

// Highway 1.0.3 does not compile for this target unless told, and fails where -march=native means
// it; the one below serves such processors.
#define HWY_DISABLED_TARGETS HWY_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/base/vector_sets.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace leanstream {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace leanstream
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leanstream {

HWY_EXPORT(without);
HWY_EXPORT(common);
HWY_EXPORT(look_up);
HWY_EXPORT(remove);
HWY_EXPORT(below);
HWY_EXPORT(numbered);
HWY_EXPORT(lowest);

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

}  // namespace leanstream
#endif
