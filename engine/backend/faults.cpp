#include "engine/backend/faults.h"

#include <cmath>

namespace leanstream::backend {

bool FaultPlan::any() const {
  return read_error > 0 || short_read > 0 || late > 0 || stall_from_ns != kNever ||
         collapse_from_ns != kNever || accelerator_dies_ns != kNever;
}

FaultInjector::FaultInjector(const FaultPlan& plan, std::uint64_t seed)
    : plan_(plan), stream_(seed, "backend.faults") {}

ReadFault FaultInjector::read(TicketId ticket, std::int64_t request) const {
  const std::uint64_t word =
      stream_.at(static_cast<std::uint32_t>(ticket), static_cast<std::uint32_t>(ticket >> 32),
                 static_cast<std::uint32_t>(request));
  double unit = std::ldexp(static_cast<double>(word >> 11), -53);
  for (const auto& [ratio, fault] : {std::pair{plan_.read_error, ReadFault::error},
                                     std::pair{plan_.short_read, ReadFault::short_read},
                                     std::pair{plan_.late, ReadFault::late}}) {
    if (unit < ratio) return fault;
    unit -= ratio;
  }
  return ReadFault::none;
}

}  // namespace leanstream::backend
