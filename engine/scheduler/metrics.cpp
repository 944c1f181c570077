#include "engine/scheduler/metrics.h"

namespace leanstream::scheduler {

void Tally::add(const Tally& o) {
  for (std::size_t p = 0; p < kPhases; ++p) phase_ns[p] += o.phase_ns[p];
  accelerator_work_ns += o.accelerator_work_ns;
  io_busy_ns += o.io_busy_ns;
  both_busy_ns += o.both_busy_ns;
  prediction_ns += o.prediction_ns;
  predictions += o.predictions;
  requests += o.requests;
  blocks_read += o.blocks_read;
  blocks_across += o.blocks_across;
  blocks_redundant += o.blocks_redundant;
  blocks_cancelled += o.blocks_cancelled;
  read_errors += o.read_errors;
  blocks_wanted += o.blocks_wanted;
  demand_misses += o.demand_misses;
  final_misses += o.final_misses;
  in_flight += o.in_flight;
  importance_share += o.importance_share;
  importance_layers += o.importance_layers;
  computed_share += o.computed_share;
  layers += o.layers;
}

}  // namespace leanstream::scheduler
