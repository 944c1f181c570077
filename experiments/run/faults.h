// `faults:` of an experiment: what goes wrong in it.
#pragma once

#include <optional>

#include "engine/backend/faults.h"
#include "engine/config/parameters.h"

namespace leanstream::run {

struct Faults {
  double read_error = 0;
  double short_read = 0;
  double late = 0;
  std::optional<TimeNs> late_by_ns;
  std::optional<TimeNs> stall_from_ns;
  std::optional<TimeNs> stall_for_ns;
  std::optional<TimeNs> collapse_from_ns;
  std::optional<TimeNs> collapse_to_ns;
  std::optional<double> collapse_factor;
  std::optional<TimeNs> accelerator_dies_ns;

  backend::FaultPlan plan() const;
};

const config::Table<Faults>& faults_table();

// What the single parameters cannot say: what goes together, and that the ratios are parts of one.
void check_faults(const Faults& faults, const config::Node& node, config::Diagnostics& diagnostics);

}  // namespace leanstream::run
