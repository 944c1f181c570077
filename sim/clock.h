// SimGrid's clock and event loop. The only part of this folder that includes SimGrid.
//
// The devices are one SimGrid resource model: SimGrid asks it for its next event, moves the clock
// there and tells it; when the model has no next event SimGrid's loop returns. No actor runs, so
// nothing switches stacks.
#pragma once

namespace leanstream::sim {

// What happens in simulated time. Dates are in seconds since the start of the run.
class Process {
 public:
  virtual ~Process() = default;
  // Date of the next event, ≥ now_s; infinite: none is known, and the clock stops.
  virtual double next_s(double now_s) = 0;
  // The clock has moved; everything up to now_s happens.
  virtual void advance(double now_s) = 0;
};

// Only one may exist in a process, ever: SimGrid's clock and options are the process's own.
class Clock {
 public:
  explicit Clock(Process& process);
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  double now_s() const;
  // Moves from event to event until the process has none.
  void run();
};

}  // namespace leanstream::sim
