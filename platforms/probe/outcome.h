// A platform's figures from the samples of a calibration.
#pragma once

#include <string>
#include <vector>

#include "engine/platform/platform_file.h"
#include "platforms/calibration/fit.h"
#include "platforms/probe/machine.h"
#include "platforms/probe/plan.h"
#include "platforms/probe/samples.h"

namespace leanstream::probe {

// A command of the accelerator as it was measured, and what the figures say.
struct CommandError {
  std::string what;  // "attention 768 x 2304"
  double measured_s = 0;
  double error = 0;  // model ÷ measured − 1
};

struct Outcome {
  platform::Platform platform;                 // without name
  std::vector<platform::Provenance> figures;   // of all of it, as a file states them
  std::vector<calibration::CellErrors> reads;  // of the flash
  // Of reads of two sizes that no figure was fitted to; `bytes` is their mean.
  std::vector<calibration::CellErrors> mixed_reads;
  std::vector<CommandError> commands;
};

// All of `plan` has been measured. Throws UserError where the reads are too few for a fit.
//
//   attention, head    command + heads · attention_head + rows · row + bytes ÷ bandwidth
//   MLP of a layer     segments · segment(synchronisation) + jumps · jump
//                      + (bytes + hidden · jumps · jump_vectors)
//                        ÷ mlp_bandwidth; jumps: blocks that do not lie behind the one before
//   many tokens        operations ÷ compute
//   MLP of many tokens (operations + blocks · tokens · hidden · block_operations)
//                      ÷ mlp_compute
//
// each by least squares of the relative errors with no cost below 0 (fit_times.h). Bytes are those
// of the weights as they are stored. `requests` of the flash and its other parameters: as from a
// table (platforms/calibration/fit.h). All else is a median.
Outcome fit_platform(const Plan& plan, const Machine& machine, const SampleFile& samples);

}  // namespace leanstream::probe
