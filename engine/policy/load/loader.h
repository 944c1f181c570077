// Loaders: what is read when, in which order and in how large requests.
#pragma once

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
    Bytes block_bytes = 0;  // padded
  };

  virtual ~Loader() = default;

  virtual ReadAhead read_ahead() const = 0;
  virtual ReadOrder order() const { return ReadOrder::flash; }
  // Up to so many neighbours in flash order become one request.
  virtual BlockId merge_blocks() const { return 1; }
};

}  // namespace leanstream::policy

#define LEANSTREAM_LOADER(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Loader, Policy, name, help)
