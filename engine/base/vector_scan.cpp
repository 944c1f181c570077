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

std::int32_t count_above_bytes(std::span<const std::uint8_t> values, std::uint8_t limit) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto limits = hn::Set(d, limit);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    count += hn::CountTrue(d, hn::Gt(hn::LoadU(d, values.data() + i), limits));
  }
  for (; i < values.size(); ++i) count += values[i] > limit ? 1 : 0;
  return static_cast<std::int32_t>(count);
}

std::int32_t count_above_words(std::span<const std::uint32_t> values, std::uint32_t limit) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto limits = hn::Set(d, limit);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    count += hn::CountTrue(d, hn::Gt(hn::LoadU(d, values.data() + i), limits));
  }
  for (; i < values.size(); ++i) count += values[i] > limit ? 1 : 0;
  return static_cast<std::int32_t>(count);
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

void vector_classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes) {
  HWY_DYNAMIC_DISPATCH(classes)(values, classes);
}

// Table look-ups are loads: four independent ones at a time keep the ports busy.
template <std::int32_t kWidth>
static void sum_blocks(const std::uint8_t* codes, const std::uint32_t* units, std::size_t blocks,
                       std::uint32_t* sums) {
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint32_t sum = 0;
    for (std::int32_t j = 0; j < kWidth; ++j) sum += units[codes[j]];
    sums[b] = sum;
    codes += kWidth;
  }
}

void vector_block_sums(std::span<const std::uint8_t> codes, std::span<const std::uint32_t> units,
                       std::int32_t width, std::span<std::uint32_t> sums) {
  const auto w = static_cast<std::size_t>(width);
  const std::size_t whole = codes.size() / w;
  switch (width) {
    case 1:
      sum_blocks<1>(codes.data(), units.data(), whole, sums.data());
      break;
    case 2:
      sum_blocks<2>(codes.data(), units.data(), whole, sums.data());
      break;
    case 3:
      sum_blocks<3>(codes.data(), units.data(), whole, sums.data());
      break;
    default:
      for (std::size_t b = 0; b < whole; ++b) {
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < w; ++j) sum += units[codes[b * w + j]];
        sums[b] = sum;
      }
  }
  if (whole == sums.size()) return;
  std::uint32_t sum = 0;
  for (std::size_t j = whole * w; j < codes.size(); ++j) sum += units[codes[j]];
  sums[whole] = sum;
}

}  // namespace leanstream
#endif
