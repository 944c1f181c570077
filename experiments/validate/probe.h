// A fixed piece of work beside every hardware run. Where its time drifts the machine has changed,
// not the run.
#pragma once

#include <string>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::validate {

// What the work took: of five parts the median.
struct Probe {
  double read_ms = 0;     // a fixed number of random reads of the image, one after the other
  double compute_ms = 0;  // sums over a fixed array
};

// About 30 ms in all. Throws UserError when the image cannot be read past the page cache.
Probe probe(const std::string& image);

Probe mean(const Probe& a, const Probe& b);

inline constexpr double kDrift = 0.10;

// Of each, the larger of its parts' distances from their medians over all: |value ÷ median − 1|.
std::vector<double> drifts(const std::vector<Probe>& probes);

}  // namespace leanstream::validate
