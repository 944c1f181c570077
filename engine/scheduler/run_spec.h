// What the scheduler must know about a run, and the policies that decide for it.
#pragma once

#include "engine/base/types.h"
#include "engine/model/activations.h"
#include "engine/model/shape.h"
#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/control/controller.h"
#include "engine/policy/load/loader.h"
#include "engine/policy/place/placement.h"
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

// What is prefetched for layer 0, whose features do not exist before its token does.
enum class LayerZero : std::uint8_t {
  previous_token,  // its final set of the token before
  hottest,         // the blocks it used most often so far, the prompt included
};

// How much of the next layer is prefetched beside what its newest prediction wants.
enum class PrefetchLimit : std::uint8_t {
  plan,  // part after part until all is there
  fits,  // what can be read in the expected rest of the accelerator's work
};

// What becomes of a prefetch that the final prediction does not want.
enum class PrefetchCancel : std::uint8_t {
  none,    // it is read to its end
  queued,  // what the device has not begun is taken back
};

// When the next I/O part is submitted.
enum class IoSegmentSync : std::uint8_t {
  barrier,  // when all reads of this one are done: the I/O workers meet
  none,     // block by block, when the device's queue has room
};

// When the accelerator may see a block that has arrived.
enum class Publish : std::uint8_t {
  segment,  // with its whole I/O part
  block,    // at once
};

// Whose slots a read may take.
enum class Scope : std::uint8_t {
  shared,         // one cache for all layers
  even,           // every layer has the same number of slots
  by_miss_curve,  // as many as minimise the misses of least-recently-used caches on the prompt
};

struct RunSpec {
  LayerId layers = 0;
  model::BlockGeometry geometry;
  // In which order a layer's neurons lie on flash; null: the model's own.
  const policy::Placement* placement = nullptr;
  SlotId slots = 0;           // the arena: memory budget ÷ block bytes
  TokenId prompt_tokens = 0;  // of `tokens`, the first ones go through prefill
  TokenId tokens = 0;
  std::int32_t end_token =
      kNone;             // the run ends with the token whose head samples it; kNone: never
  double density = 1.0;  // computed share of blocks, or of neurons with Select::neurons
  Select select = Select::blocks;
  FinalAt final_at = FinalAt::residual;
  bool refine = true;  // predict layer n+1 again as stages of layer n complete
  ComputeOrder compute_order = ComputeOrder::priority;
  LayerZero layer0 = LayerZero::previous_token;
  PrefetchLimit prefetch_limit = PrefetchLimit::plan;
  PrefetchCancel prefetch_cancel = PrefetchCancel::none;
  IoSegmentSync io_segment_sync = IoSegmentSync::barrier;
  Publish publish = Publish::segment;
  Scope scope = Scope::shared;
  std::int32_t io_lanes = 1;                 // I/O workers; a part is dealt to them in turn
  std::int32_t read_retries = 3;             // of a block whose read ends in an error
  std::int32_t queue_depth = 1;              // of the device, for each lane
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
// device's queue; with scope `even` or `by_miss_curve` in every layer.
SlotId smallest_slots(const RunSpec& spec, const Policies& policies);

// Throws UserError when the budget is below smallest_slots(), naming that figure.
void check_budget(const RunSpec& spec, const Policies& policies);

}  // namespace leanstream::scheduler
