// Effects that the simulator models, each switched off by itself: an effect whose absence makes no
// error worse has no place in the model.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::validate {

struct Effect {
  std::string name;
  std::vector<std::string> off;  // assignments to the experiment
};

// All whose parameters this program knows.
std::vector<Effect> effects();

// Whether an effect is in the figures of the cells at all: a platform may leave it out.
bool differ(const std::vector<run::Cell>& with, const std::vector<run::Cell>& without);

}  // namespace leanstream::validate
