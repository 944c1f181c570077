// Devices that look at every byte: a flash whose blocks are there when their read has ended and not
// before, and an accelerator that computes nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/hardware/accelerator/accelerator.h"
#include "engine/hardware/storage/storage.h"

namespace leanstream::hardware::test {

// What the accelerator "checked" saw. Set before it is made; it refers to it.
struct Seen {
  std::span<const std::byte> image;  // all of it
  Bytes data_offset = 0;
  std::int64_t blocks_computed = 0;
  std::int64_t wrong_blocks = 0;  // that were not the image's when released, or not until the end
  std::int64_t not_finite = 0;    // residuals
  std::vector<float> last_residual;
  std::vector<std::int32_t> sampled;
};

// The accelerator that "checked" makes next writes there.
void watch(Seen& seen);

// AnyOrderStorage in front of `image`; arena bytes are NaN from the start, and those of a read from
// when it is submitted until it ends.
std::unique_ptr<Storage> poisoning_storage(const StorageSpec& spec,
                                           std::span<const std::byte> image, std::uint64_t seed,
                                           TimeNs most_delay_ns);

}  // namespace leanstream::hardware::test
