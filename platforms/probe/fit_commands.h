// The accelerator's figures from the times of its commands.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/platform/platform.h"
#include "platforms/probe/outcome.h"

namespace leanstream::probe {

// To four digits.
TimeNs rounded_ns(double s);

// How good a fit is, in words for a reference.
std::string errors_text(const std::vector<CommandError>& errors);

struct CommandFit {
  platform::Accelerator accelerator;   // all but `start_ns`
  std::vector<CommandError> resident;  // attention and head
  std::vector<CommandError> mlp;
  std::vector<CommandError> prefill;
  // What the fit would be without a figure, in words, by its name.
  std::map<std::string, std::string> worth;
  bool compute_raised = false;  // to what single tokens reach
};

CommandFit fit_commands(const Plan& plan, const SampleFile& samples);

}  // namespace leanstream::probe
