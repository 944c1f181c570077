// Loaders: what is read when, in which order and in how large requests.
#pragma once

#include <span>

#include "engine/base/types.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

// What may be read for the next layer while this one is at work.
enum class ReadAhead : std::uint8_t {
  none,         // nothing before the layer's final prediction and the end of the layer before
  final_set,    // the final set, once it is known, after what is missing of this layer
  speculative,  // the newest prediction as well
};

enum class ReadOrder : std::uint8_t { flash, priority };

class Loader {
 public:
  static constexpr const char* kKind = "loader";

  struct Context {
    Bytes block_bytes = 0;    // padded
    Bytes request_bytes = 0;  // what the device transfers in the time of one request at its most
  };

  virtual ~Loader() = default;

  virtual ReadAhead read_ahead() const = 0;
  virtual ReadOrder order() const { return ReadOrder::flash; }
  // Up to so many neighbours in flash order become one request.
  virtual BlockId merge_blocks() const { return 1; }

  // Reading across: a request may run over blocks that are not wanted, up to so many between two
  // that are. What was read so is not kept. Needs flash order.
  virtual BlockId widest_gap() const { return 0; }
  // The widest gap to be read across in a part of so many blocks; gaps[d], d = 0 … widest_gap(), of
  // its neighbours have d unwanted blocks between them.
  virtual BlockId gap_blocks(BlockId /*blocks*/, std::span<const BlockId> /*gaps*/) const {
    return 0;
  }
};

}  // namespace leanstream::policy

#define LEANSTREAM_LOADER(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Loader, Policy, name, help)
