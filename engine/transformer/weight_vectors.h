// 32 neighbouring stored weights as vectors of f32, for every tensor type and instruction set. Each
// type is a struct with
//   kWeights, kBytes: weights of a row are a multiple of kWeights, which have kBytes;
//   decode(d, at, w): w[0 … 32 ÷ lanes) = the 32 weights whose bytes begin at `at`.
// The values are those of dequantise() to the last bit. Included once for each target by
// stored_kernels.cpp, after hwy/foreach_target.h.
#if defined(LEANSTREAM_WEIGHT_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef LEANSTREAM_WEIGHT_VECTORS
#undef LEANSTREAM_WEIGHT_VECTORS
#else
#define LEANSTREAM_WEIGHT_VECTORS
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "engine/base/check.h"
#include "engine/transformer/tensor_type.h"

HWY_BEFORE_NAMESPACE();
namespace leanstream::transformer {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: a group of weights is at least two vectors.
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;
constexpr std::size_t kLanes = hn::MaxLanes(Floats());
constexpr std::size_t kGroup = static_cast<std::size_t>(kBlockWeights);
constexpr std::size_t kParts = kGroup / kLanes;  // vectors of a group

// One lane of T for each lane of f32, from bytes that are not aligned.
template <typename T>
HWY_INLINE hn::Vec<hn::Rebind<T, Floats>> load_lanes(const std::uint8_t* at) {
  const hn::Rebind<T, Floats> narrow;
  const hn::Repartition<std::uint8_t, decltype(narrow)> bytes;
  return hn::BitCast(narrow, hn::LoadU(bytes, at));
}

// f16 → f32 in all lanes.
HWY_INLINE Vector load_scale(const std::uint8_t* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  const hn::Rebind<std::uint16_t, Floats> words;
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(Floats(), hn::BitCast(halves, hn::Set(words, bits)));
}

// w[·] = scale · q + offset for 16 bytes of nibbles: the low ones are the first half of the group.
HWY_INLINE void decode_nibbles(const std::uint8_t* nibbles, Vector scale, Vector offset,
                               Vector* HWY_RESTRICT w) {
  const Floats d;
  const hn::RebindToSigned<Floats> ints;
  const auto low_bits = hn::Set(ints, 15);
  // Where 16 lanes hold all that a nibble can mean, it is looked up; else it is computed.
  const Vector levels = hn::MulAdd(hn::Iota(d, 0.0F), scale, offset);
  const auto value = [&](hn::Vec<decltype(ints)> q) HWY_ATTR {
    if constexpr (kLanes == 16) {
      return hn::TableLookupLanes(levels, hn::IndicesFromVec(d, q));
    } else {
      return hn::MulAdd(hn::ConvertTo(d, q), scale, offset);
    }
  };
  for (std::size_t p = 0; p < kParts / 2; ++p) {
    const auto q = hn::PromoteTo(ints, load_lanes<std::uint8_t>(nibbles + p * kLanes));
    w[p] = value(hn::And(q, low_bits));
    w[p + kParts / 2] = value(hn::ShiftRight<4>(q));
  }
}

struct F32 {
  static constexpr std::size_t kWeights = 1, kBytes = 4;
  static HWY_INLINE void decode(const std::uint8_t* at, Vector* HWY_RESTRICT w) {
    for (std::size_t p = 0; p < kParts; ++p) w[p] = load_lanes<float>(at + p * kLanes * kBytes);
  }
};

template <typename Half>
struct Halves {
  static constexpr std::size_t kWeights = 1, kBytes = 2;
  static HWY_INLINE void decode(const std::uint8_t* at, Vector* HWY_RESTRICT w) {
    for (std::size_t p = 0; p < kParts; ++p) {
      w[p] = hn::PromoteTo(Floats(), load_lanes<Half>(at + p * kLanes * kBytes));
    }
  }
};
using F16 = Halves<hwy::float16_t>;
using Bf16 = Halves<hwy::bfloat16_t>;

struct Q8_0 {
  static constexpr std::size_t kWeights = kGroup, kBytes = 34;
  static HWY_INLINE void decode(const std::uint8_t* at, Vector* HWY_RESTRICT w) {
    const Floats d;
    const hn::RebindToSigned<Floats> ints;
    const Vector scale = load_scale(at);
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto q = hn::PromoteTo(ints, load_lanes<std::int8_t>(at + 2 + p * kLanes));
      w[p] = hn::Mul(hn::ConvertTo(d, q), scale);
    }
  }
};

struct Q4_0 {
  static constexpr std::size_t kWeights = kGroup, kBytes = 18;
  static HWY_INLINE void decode(const std::uint8_t* at, Vector* HWY_RESTRICT w) {
    const Vector scale = load_scale(at);
    decode_nibbles(at + 2, scale, hn::Mul(scale, hn::Set(Floats(), -8.0F)), w);
  }
};

struct Q4_1 {
  static constexpr std::size_t kWeights = kGroup, kBytes = 20;
  static HWY_INLINE void decode(const std::uint8_t* at, Vector* HWY_RESTRICT w) {
    // Scale and minimum are converted in one go, as neighbours.
    std::uint32_t both;
    std::memcpy(&both, at, sizeof both);
    const hn::Rebind<hwy::float16_t, Floats> halves;
    const hn::Repartition<std::uint32_t, decltype(halves)> pairs;
    const Vector v = hn::PromoteTo(Floats(), hn::BitCast(halves, hn::Set(pairs, both)));
    decode_nibbles(at + 4, hn::DupEven(v), hn::DupOdd(v), w);
  }
};

// use(the struct of the type).
template <typename Use>
HWY_INLINE void with_type(TensorType type, const Use& use) {
  switch (type) {
    case TensorType::kF32:
      return use(F32());
    case TensorType::kF16:
      return use(F16());
    case TensorType::kBf16:
      return use(Bf16());
    case TensorType::kQ8_0:
      return use(Q8_0());
    case TensorType::kQ4_0:
      return use(Q4_0());
    case TensorType::kQ4_1:
      return use(Q4_1());
  }
  LEANSTREAM_CHECK(false, "tensor type {}", static_cast<std::uint32_t>(type));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace leanstream::transformer
HWY_AFTER_NAMESPACE();

#endif
