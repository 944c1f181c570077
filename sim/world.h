// The simulated world: carries out commands on the device models of this folder, in SimGrid's time.
//
// Stations: the flash with its I/O lanes (flash.h), one accelerator and one processor core for
// predictions; all meet on the memory bus (bus.h).
//
// Dates are whole nanoseconds, rounded up. All that ends within one nanosecond is one batch, in
// order of tickets. A run is a function of its spec and its commands: the same to the bit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/scores.h"
#include "engine/backend/world.h"
#include "engine/energy/meter.h"
#include "sim/bus.h"
#include "sim/clock.h"
#include "sim/flash.h"
#include "sim/station.h"

namespace leanstream::sim {

class World final : public backend::Backend, private Process {
 public:
  // One in a process, ever (clock.h).
  explicit World(const backend::WorldSpec& spec);

  TimeNs now() override { return now_ns_; }
  void submit(std::span<const scheduler::Command> commands) override;
  // A wait without deadline in which nothing can ever end is a deadlock and fails.
  std::span<const scheduler::Completion> wait(TimeNs deadline) override;

 private:
  struct Answer {
    scheduler::Command command;
    TimeNs work_ns = 0;
    Read* read = nullptr;  // of a read
  };

  double next_s(double now_s) override;
  void advance(double now_s) override;
  void enqueue(const scheduler::Command& command, double now_s);
  void collect();
  void deliver();
  void apply_faults(double now_s);
  void feel_heat();

  backend::WorldSpec spec_;
  std::optional<energy::Meter> meter_;  // where a unit may become too hot
  double prediction_waits_s_ = 0;       // for its processor
  energy::Throttled throttled_;
  double accelerator_rate_ = 1, cpu_rate_ = 1, flash_rate_ = 1;  // of their speed that is left
  std::vector<Station::Ended> ended_;
  std::unique_ptr<Flash> flash_;
  Station accelerator_;
  Station processor_;
  Bus bus_;
  std::vector<double> fault_dates_;  // at which something begins or ends, rising
  std::size_t next_fault_ = 0;
  TimeNs now_ns_ = 0;
  TimeNs last_end_ns_ = -1;  // date of the last batch of what took time
  double until_s_ = 0;       // no time passes beyond that
  bool waiting_ = false;     // nothing has ended yet
  TicketId last_ticket_ = 0;
  std::vector<Answer> answers_;  // not delivered yet, all at now_ns_
  std::vector<scheduler::Completion> batch_;
  std::vector<Read*> lent_;  // their spans are out until the next wait
  backend::Scores scores_;
  Clock clock_;
};

}  // namespace leanstream::sim
