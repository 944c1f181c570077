// Auditing a sweep: some cells are run a second time, in a fresh process, and must not differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/child.h"

namespace leanstream::run {

// The cells that are repeated: `share` of `cells`, at least one, chosen by the seed; rising.
std::vector<std::size_t> audited_cells(std::size_t cells, double share, std::uint64_t seed);

// One run of a cell: what its process said, and the log of it.
struct Repeat {
  ChildOutcome outcome;
  std::string log;
};

// What differs between two runs of one cell: the first event, with what came before it, or a
// result; "" when nothing does. `first.outcome.text` and the other are run_in_child()'s; their
// wall-clock part is not compared.
std::string repeat_difference(const Repeat& first, const Repeat& second);

}  // namespace leanstream::run
