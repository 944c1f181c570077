// What the scheduler must know about a run, and the policies that decide for it.
#pragma once

#include "engine/base/types.h"
#include "engine/model/activations.h"
#include "engine/model/shape.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/control/controller.h"
#include "engine/policy/load/loader.h"
#include "engine/policy/predict/predictor.h"

namespace leanstream::scheduler {

// Which blocks are wanted, given scores of neurons (engine/README.md, "Selection").
enum class Select : std::uint8_t {
  blocks,   // the blocks with the largest summed score
  neurons,  // every block that holds one of the top neurons
};

// From what the final prediction of a layer is made. A controller that predicts once ahead, and a
// predictor that wants everything, override it.
enum class FinalAt : std::uint8_t {
  residual,   // the residual after the layer before, requested when that layer ends
  own_input,  // the layer's own MLP input, requested when its attention ends
};

enum class ComputeOrder : std::uint8_t { priority, flash };

struct RunSpec {
  LayerId layers = 0;
  model::BlockGeometry geometry;
  SlotId slots = 0;           // the arena: memory budget ÷ block bytes
  TokenId prompt_tokens = 0;  // of `tokens`, the first ones go through prefill
  TokenId tokens = 0;
  double density = 1.0;  // computed share of blocks, or of neurons with Select::neurons
  Select select = Select::blocks;
  FinalAt final_at = FinalAt::residual;
  bool refine = true;  // predict layer n+1 again as stages of layer n complete
  ComputeOrder compute_order = ComputeOrder::priority;
  std::int32_t queue_depth = 1;              // of the device, for the smallest budget
  BlockId prefill_merge_blocks = 1;          // neighbours that one request of prefill reads
  TimeNs stall_timeout_ns = 60'000'000'000;  // without any completion the run ends
};

// Not owned; all outlive the scheduler.
struct Policies {
  const policy::Predictor* predictor = nullptr;
  policy::CachePolicy* cache = nullptr;
  const policy::Controller* controller = nullptr;
  const policy::Loader* loader = nullptr;
  const model::Activations* activations = nullptr;
};

// The fewest slots with which a run can proceed: one accelerator segment, one I/O part and the
// device's queue.
SlotId smallest_slots(const RunSpec& spec, const Policies& policies);

}  // namespace leanstream::scheduler
