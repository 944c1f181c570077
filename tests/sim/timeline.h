// Runs users of a bus from event to event without SimGrid: many short runs in one process.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/bus.h"

namespace leanstream::sim {

class Timeline {
 public:
  Timeline(double bus_bytes_per_s, std::vector<BusUser*> users)
      : bus_(bus_bytes_per_s, std::move(users)) {}

  double now_s() const { return now_s_; }
  // To the next event, or to until_s when there is none before; false then.
  bool step(double until_s = kInfinity) {
    bus_.share(now_s_);
    const double next_s = bus_.next_s();
    if (next_s > until_s || next_s == kInfinity) {
      if (until_s < kInfinity) now_s_ = std::max(now_s_, until_s);
      return false;
    }
    now_s_ = std::max(now_s_, next_s);
    bus_.advance(now_s_);
    ++events_;
    return true;
  }
  void run_until(double until_s) {
    while (step(until_s)) {
    }
  }
  std::int64_t events() const { return events_; }

 private:
  Bus bus_;
  double now_s_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace leanstream::sim
