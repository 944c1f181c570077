// Something to be measured several times, and the order in which all of it is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platforms/probe/samples.h"

namespace leanstream::probe {

struct FigureName {
  std::string name;
  std::string unit;
};

struct Probe {
  std::string what;
  std::string parameters;
  std::vector<FigureName> figures;
  // A value for each figure; `repetition` seeds what is random.
  std::function<std::vector<double>(int repetition)> measure;
};

// Measured in random order among each other: what drifts is not mistaken for what differs. What
// they share may be large; it is there as long as the group.
using Group = std::vector<Probe>;

// So many measurements are not in the file.
std::size_t missing(const std::vector<Group>& groups, int repetitions, const SampleFile& file);

// Measures what is missing, group by group. `done` is called after each measurement.
void measure(std::vector<Group> groups, int repetitions, SampleFile& file,
             const std::function<void(const Probe&)>& done);

}  // namespace leanstream::probe
