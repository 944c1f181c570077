// A world: something that carries out commands and says when they are done.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/types.h"
#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"

namespace leanstream::backend {

// How long the host looks for an answer that it cannot do without before it sleeps: about what it
// costs to be woken. So much of each wait is a processor's time, in every world.
inline constexpr TimeNs kLookNs = 10'000;

class Backend {
 public:
  virtual ~Backend() = default;

  // Time since the start of the run.
  virtual TimeNs now() = 0;

  // Takes commands over in order. Never blocks, never lets time pass.
  virtual void submit(std::span<const scheduler::Command> commands) = 0;

  // The only call that may sleep: returns at the next completion with all completions of that
  // moment in order of arrival, or at `deadline` with one Status::timed_out. The span is valid
  // until the next call.
  virtual std::span<const scheduler::Completion> wait(TimeNs deadline) = 0;

  // The scheduler has finished; no command follows.
  virtual void ended() {}

  // What of the machine the run used, for its record: the devices chosen, memory by part. Names and
  // values; empty for worlds that are not made of devices.
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }

  // A check of ours has failed and the process is about to end: saves what should survive.
  virtual void broken() {}
};

}  // namespace leanstream::backend
