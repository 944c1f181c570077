// Hashes: Fnv64 rolls over commands (the same on every machine), hash_file names an input file.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace leanstream {

// XXH3-64 of bytes.
std::uint64_t hash64(std::span<const std::byte> bytes);

// FNV-1a over little-endian 64-bit words.
class Fnv64 {
 public:
  void add(std::uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3ULL; }

  // Their number and the XXH3-64 of their bytes, which are little-endian.
  template <std::integral T>
  void add_all(std::span<const T> words) {
    static_assert(std::endian::native == std::endian::little);
    add(words.size());
    if (!words.empty()) add(hash64(std::as_bytes(words)));
  }

  std::uint64_t value() const { return value_; }
  std::string hex() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

// Well-mixed 64 bits from two words (splitmix64): tie-breaking and stateless noise.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0) {
  std::uint64_t z = a + 0x9e3779b97f4a7c15ULL * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// XXH3-128 of bytes, as 32 hexadecimal digits.
std::string hash_bytes(std::span<const std::byte> bytes);

// The same of a whole file. Throws UserError when it cannot be read.
std::string hash_file(const std::string& path);

}  // namespace leanstream
