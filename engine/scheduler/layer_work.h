// One MLP of one token (in prefill: of the whole prompt) while it is prepared and computed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"

namespace leanstream::scheduler {

// ⌈blocks ÷ parts⌉
inline BlockId divide_up(BlockId blocks, std::int32_t parts) {
  return (blocks + parts - 1) / parts;
}

struct LayerWork {
  explicit LayerWork(BlockId blocks)
      : wanted(blocks),
        prefetched(blocks),
        computed(blocks),
        priority(static_cast<std::size_t>(blocks)),
        units(static_cast<std::size_t>(blocks)) {
    ready.reserve(static_cast<std::size_t>(blocks));
  }

  // `prompt_tokens` > 0: a layer of prefill with so many tokens.
  void reset(StepId new_step, TokenId new_token, std::int32_t prompt_tokens, LayerId new_layer) {
    step = new_step, token = new_token, layer = new_layer;
    prefill = prompt_tokens > 0;
    tokens = prefill ? prompt_tokens : 1;
    predicted = final = final_requested = false;
    requested_stage = kNone;
    part_blocks = wanted_blocks = segment_blocks = final_misses = 0;
    units_wanted = units_computed = 0;
    for (auto* set : {&wanted, &prefetched, &computed}) set->clear();
    ready.clear();
    released = 0;
    segments = segments_outstanding = 0;
    attention_done = began = ended = false;
  }

  BlockId unreleased() const { return wanted_blocks - static_cast<BlockId>(released); }
  BlockId waiting() const { return static_cast<BlockId>(ready.size() - released); }

  StepId step = kNone;
  TokenId token = 0;  // the first of `tokens`
  std::int32_t tokens = 1;
  bool prefill = false;
  LayerId layer = 0;

  // The newest prediction.
  bool predicted = false;
  bool final = false;  // T_F has passed: `wanted` is what will be computed
  bool final_requested = false;
  std::int32_t requested_stage = kNone;  // newest stage a refinement was asked from
  BlockSet wanted;
  BlockSet prefetched;  // asked from flash for this work before T_F
  BlockSet computed;    // their segment is done
  std::vector<std::uint8_t> priority;
  std::vector<std::uint64_t> units;  // predicted importance of each block
  BlockId part_blocks = 0;           // of an I/O part; 0 until the first

  // Taken at T_F.
  BlockId wanted_blocks = 0;
  BlockId segment_blocks = 0;
  BlockId final_misses = 0;

  // The accelerator's side.
  std::vector<BlockId> ready;  // wanted blocks that are there, in the order of computation
  std::size_t released = 0;    // of `ready`
  std::int32_t segments = 0;
  std::int32_t segments_outstanding = 0;
  std::uint64_t units_wanted = 0;
  std::uint64_t units_computed = 0;
  bool attention_done = false;
  bool began = false;
  bool ended = false;  // end_layer submitted
};

}  // namespace leanstream::scheduler
