// The shim that makes a run's fault plan happen on a real device (engine/backend/faults.h). Faults
// of single requests are those of a simulated run: decided by ticket and place in the read.
#pragma once

#include <functional>
#include <memory>

#include "engine/backend/faults.h"
#include "engine/hardware/storage/storage.h"

namespace leanstream::hardware {

struct FaultySpec {
  backend::FaultPlan plan;
  std::uint64_t seed = 0;
  Bytes block_bytes = 0;             // what a short read lacks
  double bandwidth_bytes_per_s = 0;  // the whole of it, of which a collapse leaves its factor
  // Time since the start of the run: the dates of the plan.
  std::function<TimeNs()> now;
};

// The device behind goes on as it is; the shim changes results and holds them back: a late one for
// its time, those of a stall until its end, those of a collapse until the bytes fit what is left of
// the bandwidth.
std::unique_ptr<Storage> with_faults(std::unique_ptr<Storage> inner, const FaultySpec& spec);

}  // namespace leanstream::hardware
