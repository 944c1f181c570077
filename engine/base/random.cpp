#include "engine/base/random.h"

#include "engine/base/check.h"
#include "engine/base/hash.h"

namespace leanstream {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
  Fnv64 hash;
  for (const char c : name) hash.add(static_cast<unsigned char>(c));
  const std::uint64_t key = mix(seed, hash.value());
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::uint64_t RandomStream::next_u64() {
  if (left_ == 0) {
    const auto out = philox(
        {static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32), 0, 1},
        key_);
    ++counter_;
    buffer_ = {out[0] | std::uint64_t{out[1]} << 32, out[2] | std::uint64_t{out[3]} << 32};
    left_ = 2;
  }
  return buffer_[static_cast<std::size_t>(2 - left_--)];
}

double RandomStream::next_unit() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

std::uint64_t RandomStream::next_below(std::uint64_t bound) {
  LEANSTREAM_CHECK(bound >= 1, "an empty range has no random number");
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
  std::uint64_t word = next_u64();
  while (word > limit) word = next_u64();
  return word % bound;
}

std::uint64_t RandomStream::at(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
  const auto out = philox({a, b, c, 2}, key_);
  return out[0] | std::uint64_t{out[1]} << 32;
}

}  // namespace leanstream
