// What is prefetched for layer 0, which has no features before its token exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::scheduler {

class FirstLayer {
 public:
  FirstLayer(LayerZero rule, BlockId blocks);

  // A token, of the prompt or decoded, used these blocks of layer 0.
  void used(const BlockSet& blocks, std::span<const std::uint8_t> priority);

  // The guess for the next token, and the priority of each block.
  void guess(BlockSet& wanted, std::span<std::uint8_t> priority);

 private:
  LayerZero rule_;
  BlockSet last_;
  std::vector<std::uint8_t> last_priority_;
  std::vector<std::uint32_t> uses_;
  std::vector<BlockId> order_;  // scratch
};

}  // namespace leanstream::scheduler
