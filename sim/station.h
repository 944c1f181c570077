// A unit that serves one command at a time, in the order submitted: the accelerator, or the
// processor core that predicts.
#pragma once

#include <vector>

#include "engine/base/ring.h"
#include "engine/scheduler/command.h"
#include "sim/bus.h"

namespace leanstream::sim {

class Station final : public BusUser {
 public:
  struct Ended {
    scheduler::Command command;
    TimeNs work_ns = 0;  // without the delay of its flow
  };

  // Commands that end go to `ended`, which outlives the station. One that finds the unit idle
  // begins `start_s` later.
  explicit Station(std::vector<Ended>& ended, double start_s = 0)
      : ended_(&ended), start_s_(start_s) {}

  void submit(const scheduler::Command& command, const Flow& flow, double now_s);
  // Nothing ends here any more.
  void die();

  double demand() const override;
  void set_share(double bytes_per_s, double now_s) override;
  double next_s() const override { return busy_ ? transfer_.next_s() : kInfinity; }
  void advance(double now_s) override;

 private:
  struct Queued {
    scheduler::Command command;
    Flow flow;
  };

  void start(double now_s, double delay_s);

  std::vector<Ended>* ended_;
  double start_s_;
  Ring<Queued> queue_;  // the front is in service while busy_
  bool busy_ = false;
  bool dead_ = false;
  double work_from_s_ = 0;
  Transfer transfer_;
};

}  // namespace leanstream::sim
