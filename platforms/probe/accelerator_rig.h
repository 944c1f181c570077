// An accelerator with random weights, driven as the scheduler drives it but with commands chosen
// here and a caller that looks for answers without a pause.
#pragma once

#include <memory>
#include <vector>

#include "engine/backend/world.h"
#include "engine/base/random.h"
#include "engine/hardware/accelerator/accelerator.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/storage.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {

// From handing a command over until its end is seen, and the part of it that the accelerator calls
// work; medians.
struct CommandTime {
  double wall_s = 0;
  double work_s = 0;
};

struct PassTimes {
  CommandTime attention;
  CommandTime mlp;  // of a layer: from its opening to its end
  CommandTime head;
};

class AcceleratorRig {
 public:
  AcceleratorRig(const Shape& shape, int threads, std::span<const int> processors);

  // Tokens one by one, until `layers` layers were timed. Of each layer a random share of the
  // blocks, or in the order of memory its first ones, in so many segments, all released at once.
  PassTimes decode(backend::Synchronisation synchronisation, int segments, double share,
                   Order order, int layers, int seed);

  // `tokens` at once through all layers, with all blocks.
  PassTimes prefill(std::int32_t tokens);

  // From handing a command over to an accelerator whose threads sleep since `idle_ns`, until its
  // end is seen by a caller that slept in `storage`, less the work; the mean of `times`,
  // since what runs pay for a machine that is slow to wake now and then is that.
  double round_trip_s(hardware::Storage& storage, TimeNs idle_ns, int times);

 private:
  class Drive;
  hardware::AcceleratorSpec spec(backend::Synchronisation synchronisation, TokenId tokens) const;
  void fill_arena();

  Shape shape_;
  int threads_;
  std::vector<int> processors_;  // of the accelerator
  transformer::Decoder decoder_;
  transformer::BlockLayout layout_;
  model::BlockGeometry geometry_;
  Bytes arena_bytes_;
  hardware::AlignedMemory arena_;
};

}  // namespace leanstream::probe
