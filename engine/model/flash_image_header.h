// The header of a flash image as bytes: what its reader and its writer agree on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/flash_image.h"

namespace leanstream::model::image {

inline constexpr std::array<char, 8> kMagic{'L', 'S', 'F', 'L', 'A', 'S', 'H', '\n'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr Bytes kMostHeaderBytes = Bytes{1} << 32;
inline constexpr Bytes kMostBlockBytes = Bytes{1} << 32;
inline constexpr Bytes kAlignment = 4096;  // of the data, at least

// The first bytes, as they lie in the file.
struct Fixed {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t json_bytes = 0;  // a multiple of 8: padded with spaces
  Bytes data_offset = 0;
  std::uint64_t checksum = 0;  // hash64 of all bytes before data_offset while this is 0
};
static_assert(sizeof(Fixed) == 32);

// Where the parts of a header begin, from the start of the file.
struct Sections {
  Bytes orders = 0;
  Bytes checksums = 0;
  Bytes data = 0;
};
Sections sections(const FlashImageInfo& info, std::size_t json_bytes);

// Everything but the orders. from_json throws UserError naming the key, never trusts a number, and
// leaves info.orders with empty lists when the header has orders.
std::string to_json(const FlashImageInfo& info);
FlashImageInfo from_json(const std::string& path, std::string_view json);

}  // namespace leanstream::model::image
