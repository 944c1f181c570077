// What goes wrong in a run, planned from its seed: the same plan for the simulated devices and for
// the shim around real ones.
#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "engine/base/types.h"

namespace leanstream::backend {

// Ratios are probabilities of each device request. Dates are since the start of the run; kNever:
// not at all.
struct FaultPlan {
  double read_error = 0;  // EIO: none of the request's bytes are there
  double short_read = 0;  // the request ends early; its last block is not there
  double late = 0;        // the request takes `late_by_ns` longer
  TimeNs late_by_ns = 0;
  TimeNs stall_from_ns = kNever;  // the flash serves nothing for stall_for_ns
  TimeNs stall_for_ns = 0;
  TimeNs collapse_from_ns = kNever;  // the flash has collapse_factor of its bandwidth from then …
  TimeNs collapse_to_ns = kNever;    // … until then
  double collapse_factor = 1;
  TimeNs accelerator_dies_ns = kNever;  // no accelerator command ends after that

  bool any() const;
};

enum class ReadFault : std::uint8_t { none, error, short_read, late };

// Decides, in every world alike, what happens to the n-th device request of a read.
class FaultInjector {
 public:
  FaultInjector(const FaultPlan& plan, std::uint64_t seed);

  ReadFault read(TicketId ticket, std::int64_t request) const;
  const FaultPlan& plan() const { return plan_; }

 private:
  FaultPlan plan_;
  RandomStream stream_;
};

}  // namespace leanstream::backend
