// One MLP of one token (in prefill: of the whole prompt) while it is prepared and computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"
#include "engine/policy/control/controller.h"
#include "engine/scheduler/selection.h"

namespace leanstream::scheduler {

// ⌈blocks ÷ parts⌉
inline BlockId divide_up(BlockId blocks, std::int32_t parts) {
  return (blocks + parts - 1) / parts;
}

// Where a layer's work stands in a plan: `done` of its `blocks`, cut into logical stages of equal
// block count. Work beyond the last stage belongs to it.
struct PlanPiece {
  PlanPiece(BlockId blocks, BlockId done, std::int32_t stages)
      : stage_blocks(std::max<BlockId>(1, divide_up(blocks, stages))),
        stage(static_cast<std::size_t>(std::min(stages - 1, done / stage_blocks))),
        left(static_cast<std::int32_t>(stage) + 1 < stages
                 ? (static_cast<BlockId>(stage) + 1) * stage_blocks - done
                 : std::numeric_limits<BlockId>::max()) {}

  // Blocks of the next segment when the stage is cut into so many.
  BlockId cut(std::int32_t segments) const {
    return std::min(left, std::max<BlockId>(1, divide_up(stage_blocks, segments)));
  }

  BlockId stage_blocks;
  std::size_t stage;
  BlockId left;  // to the end of the stage
};

// The scores are those of the newest prediction.
struct LayerWork : BlockScores {
  explicit LayerWork(BlockId blocks)
      : BlockScores(blocks),
        prefetched(blocks),
        computed(blocks),
        failures(static_cast<std::size_t>(blocks)) {
    ready.reserve(static_cast<std::size_t>(blocks));
    to_read.reserve(static_cast<std::size_t>(blocks));
  }

  // `prompt_tokens` > 0: a layer of prefill with so many tokens.
  void reset(StepId new_step, TokenId new_token, std::int32_t prompt_tokens, LayerId new_layer) {
    step = new_step, token = new_token, layer = new_layer;
    prefill = prompt_tokens > 0;
    tokens = prefill ? prompt_tokens : 1;
    predicted = final = final_requested = false;
    requested_stage = kNone;
    for (auto* set : {&wanted, &prefetched, &computed}) set->clear();
    to_read.clear();
    to_read_at = 0;
    to_read_stale = true;
    read_target = submitted = 0;
    if (std::exchange(failed, false)) std::fill(failures.begin(), failures.end(), std::uint8_t{0});
    wanted_blocks = dense_blocks = final_misses = 0;
    ready.clear();
    released = 0;
    segments = segments_outstanding = 0;
    units_wanted = units_computed = 0;
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
  BlockSet prefetched;                   // asked from flash for this work before T_F
  BlockSet computed;                     // their segment is done

  // The I/O unit's side. `to_read` holds what was missing, in reading order, when it was made; what
  // has arrived since is skipped. Stale: something else may be missing now.
  std::vector<BlockId> to_read;
  std::size_t to_read_at = 0;
  bool to_read_stale = true;
  BlockId read_target = 0;  // blocks that the plan cuts into parts; 0 until the first part
  BlockId submitted = 0;    // of them
  std::vector<std::uint8_t> failures;  // reads of each block that ended in an error
  bool failed = false;                 // some did

  // Taken at T_F.
  policy::Plan plan;
  BlockId wanted_blocks = 0;
  BlockId dense_blocks = 0;  // resident and always computed: one segment of a plan with clusters
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
