// The simulated world: carries out commands on the device models of this folder, in SimGrid's time.
//
// Stations: I/O lanes (read_lane.h), one accelerator and one processor core for predictions; each
// serves in order, one command at a time, and all meet on the memory bus (fabric.h).
//
// Dates are whole nanoseconds, rounded up. All flows that end within one nanosecond are one batch,
// in order of tickets. A run is a function of its spec and its commands: the same to the bit.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/world.h"
#include "sim/fabric.h"
#include "sim/read_lane.h"

namespace leanstream::sim {

class World final : public backend::Backend {
 public:
  // One in a process, ever (fabric.h).
  explicit World(const backend::WorldSpec& spec);

  TimeNs now() override { return now_ns_; }
  void submit(std::span<const scheduler::Command> commands) override;
  // A wait without deadline while nothing is under way is a deadlock and fails.
  std::span<const scheduler::Completion> wait(TimeNs deadline) override;
  // submit and wait are only for `loop`. Throws what `loop` throws.
  void host(const std::function<void()>& loop) override { fabric_.run(loop); }

 private:
  struct Station {  // accelerator, processor
    Port port;
    std::deque<scheduler::Command> queue{};  // the front is in service while `busy`
    bool busy = false;
    double work_from_s = 0;  // when the synchronisation of the front is over
  };
  struct Ended {
    scheduler::Command command;
    TimeNs work_ns = 0;
  };

  void enqueue(const scheduler::Command& command);
  void start_lane(Port lane);
  void start_station(Station& station);
  void end_flow(Port port);
  std::optional<Port> next(double until_s);
  void advance(TimeNs deadline);
  void deliver();
  std::span<const std::uint8_t> predict(const scheduler::Command& command);
  double ssd_capacity(std::span<const Port> lanes);

  backend::WorldSpec spec_;
  std::vector<ReadLane> lanes_;
  std::array<bool, kLanes> lane_busy_{};
  Station accelerator_{kAccelerator};
  Station processor_{kProcessor};
  TimeNs now_ns_ = 0;
  TimeNs last_flows_ns_ = -1;  // date of the last batch that held flows
  TicketId last_ticket_ = 0;
  std::vector<Ended> ended_;  // not delivered yet, all at now_ns_
  std::vector<scheduler::Completion> batch_;
  std::vector<std::vector<std::uint8_t>> scores_;  // pool; the first scores_used_ are lent out
  std::size_t scores_used_ = 0;
  std::vector<double> request_bytes_;  // scratch
  Fabric fabric_;
};

}  // namespace leanstream::sim
