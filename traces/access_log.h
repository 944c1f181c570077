// A trace's block accesses in the formats of cache simulators.
#pragma once

#include <string>

#include "traces/active_sets.h"

namespace leanstream::traces {

// Accesses are ordered by token, layer and block. All blocks have size 1.
enum class AccessFormat {
  oracle_general,  // libCacheSim's binary: 24 bytes an access, little-endian, without padding:
                   // u32 time (the token), u64 object id (1 + layer · blocks + block), u32 size,
                   // i64 index of the next access to the object, −1 if there is none
  csv,             // time,token,layer,block,size with a header; time is the access's index
};

// Writes the file whole or not at all; returns the number of accesses. Throws UserError.
std::int64_t write_accesses(const SetSequence& sets, AccessFormat format, const std::string& path);

}  // namespace leanstream::traces
