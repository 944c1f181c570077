// What the scheduler asks of a world. Together with completion.h this is the whole seam: the
// simulator, the hardware, a replayed log and the null device differ in nothing else.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/types.h"

namespace leanstream::scheduler {

enum class CommandKind : std::uint8_t {
  read,         // flash: bring blocks into slots
  attention,    // accelerator: attention of a layer
  begin_layer,  // accelerator: open the MLP of a layer; releases follow
  release,      // accelerator: these slots hold blocks that may be computed now
  end_layer,    // accelerator: no more releases; done when the layer's sum is complete
  head,         // accelerator: output head and sampling of the next token
  predict,      // CPU: scores of a layer's neurons from a feature
  cancel,       // flash: take back what the device has not begun of the read `target`
};

const char* name_of(CommandKind kind);

// Features by index, relative to the layer that is predicted (engine/README.md, "Predictors").
inline constexpr std::int32_t kStages = 8;         // K: stages of a layer's computed share
inline constexpr std::int32_t kFeatureInput = -2;  // input of the layer before, before attention
inline constexpr std::int32_t kFeatureOwn = -1;    // the layer's own MLP input
inline constexpr std::int32_t kFeatureFinal = kStages;  // residual after the whole layer before

// Accelerator commands run in the order submitted; reads are served in order by their lane's
// device queue; predictions run one at a time; a cancel takes no time. Spans stay valid until the
// ticket completes.
struct Command {
  TicketId ticket = 0;  // names the completion; rises by one from 1
  CommandKind kind = CommandKind::read;
  LayerId layer = kNone;          // kNone for head
  TokenId token = 0;              // first token of the command
  std::int32_t tokens = 1;        // computed together: 1 in decode, the prompt's length in prefill
  std::int32_t lane = 0;          // read: I/O worker
  std::int32_t merge_blocks = 1;  // read: up to so many neighbours in flash order are one request
  std::int32_t segment = kNone;   // release: index within the layer
  std::int32_t feature = 0;       // predict: kFeatureInput … kStages
  TicketId target = 0;            // cancel: a read submitted before; done already is no error
  std::span<const BlockId> blocks{};  // read, release; for read in the order to be requested
  std::span<const SlotId> slots{};    // read, release; slots[i] holds blocks[i]
};

// Calls visit(first index, count) for each run of consecutive blocks, cut at merge_blocks.
template <typename Visit>
void for_each_run(std::span<const BlockId> blocks, std::int32_t merge_blocks, Visit&& visit) {
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t n = 1;
    while (i + n < blocks.size() && n < static_cast<std::size_t>(merge_blocks) &&
           blocks[i + n] == blocks[i + n - 1] + 1) {
      ++n;
    }
    visit(i, n);
    i += n;
  }
}

// The same for each device request of a read.
template <typename Visit>
void for_each_request(const Command& read, Visit&& visit) {
  for_each_run(read.blocks, read.merge_blocks, visit);
}

}  // namespace leanstream::scheduler
