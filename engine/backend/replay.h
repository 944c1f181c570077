// The world of a completion log: answers what was answered then, and stops at the first command
// that was not asked for then.
//
// Made from WorldSpec::log by the world "replay". Predictions carry the scores that the log holds
// or, where it holds none, those of WorldSpec's predictor, whose hash must be the log's. A log that
// is not sound, or that breaks the rules of a world (command.h), throws UserError.
#pragma once

#include <stdexcept>

namespace leanstream::backend {

// The run is not that of the log: thrown by submit, wait and ended. Several lines: where, what is
// in the log, what came now, the events before it.
class ReplayDiffers : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace leanstream::backend
