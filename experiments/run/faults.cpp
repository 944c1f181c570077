#include "experiments/run/faults.h"

#include <initializer_list>

namespace leanstream::run {

backend::FaultPlan Faults::plan() const {
  return {.read_error = read_error,
          .short_read = short_read,
          .late = late,
          .late_by_ns = late_by_ns.value_or(0),
          .stall_from_ns = stall_from_ns.value_or(kNever),
          .stall_for_ns = stall_for_ns.value_or(0),
          .collapse_from_ns = collapse_from_ns.value_or(kNever),
          .collapse_to_ns = collapse_to_ns.value_or(kNever),
          .collapse_factor = collapse_factor.value_or(1),
          .accelerator_dies_ns = accelerator_dies_ns.value_or(kNever)};
}

const config::Table<Faults>& faults_table() {
  using F = Faults;
  constexpr auto kTime = config::Dimension::time;
  static const config::Table<F> table{
      config::ratio("read_error", &F::read_error, "device requests that fail as a whole"),
      config::ratio("short_read", &F::short_read, "device requests whose last block is not there"),
      config::ratio("late", &F::late, "device requests that are late"),
      config::quantity("late_by", &F::late_by_ns, kTime, "by so much").at_least(0),
      config::quantity("stall_from", &F::stall_from_ns, kTime,
                       "from then on, since the start of the run, the flash does nothing …")
          .at_least(0),
      config::quantity("stall_for", &F::stall_for_ns, kTime, "… for so long").at_least(0),
      config::quantity("collapse_from", &F::collapse_from_ns, kTime,
                       "from then on the flash has less bandwidth …")
          .at_least(0),
      config::quantity("collapse_to", &F::collapse_to_ns, kTime, "… until then …").at_least(0),
      config::number("collapse_factor", &F::collapse_factor, "… this part of it").range(1e-6, 1),
      config::quantity("accelerator_dies", &F::accelerator_dies_ns, kTime,
                       "from then on the accelerator ends nothing")
          .at_least(0)};
  return table;
}

void check_faults(const Faults& faults, const config::Node& node,
                  config::Diagnostics& diagnostics) {
  // At the first of the named parameters that is there.
  const auto error = [&](std::initializer_list<const char*> names, const char* what) {
    for (const char* name : names) {
      if (const config::Node at = node[name]) return diagnostics.error(at.position(), "{}", what);
    }
  };
  if (faults.read_error + faults.short_read + faults.late > 1) {
    error(
        {"read_error", "short_read"},
        "'read_error', 'short_read' and 'late' are shares of all requests: 100% together at most");
  }
  if (faults.late > 0 && !faults.late_by_ns) {
    error({"late"}, "'late' says how many requests; it needs 'late_by': by how much");
  }
  if (faults.stall_from_ns.has_value() != faults.stall_for_ns.has_value()) {
    error({"stall_from", "stall_for"}, "'stall_from' and 'stall_for' go together");
  }
  const bool from = faults.collapse_from_ns.has_value();
  const bool to = faults.collapse_to_ns.has_value();
  if (from != to || from != faults.collapse_factor.has_value()) {
    error({"collapse_from", "collapse_to", "collapse_factor"},
          "'collapse_from', 'collapse_to' and 'collapse_factor' go together");
  } else if (from && *faults.collapse_to_ns <= *faults.collapse_from_ns) {
    error({"collapse_to"}, "'collapse_to' is not after 'collapse_from'");
  }
}

}  // namespace leanstream::run
