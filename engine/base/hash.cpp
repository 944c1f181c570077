#include "engine/base/hash.h"

#include <xxhash.h>

#include <fmt/format.h>

#include "engine/base/mapped_file.h"

namespace leanstream {

std::string Fnv64::hex() const {
  return fmt::format("{:016x}", value_);
}

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string hash_bytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

std::string hash_file(const std::string& path) {
  return hash_bytes(MappedFile(path).bytes());
}

}  // namespace leanstream
