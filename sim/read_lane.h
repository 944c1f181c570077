// The device queue of one I/O worker. Reads are served in order, one flow at a time.
//
// A read that finds its lane idle pays the worker's overhead and the latency (flash_model.h). One
// that was queued behind another is continued: it entered the device while the reads between it and
// the one in service held fewer than `queue_depth` requests, its latency runs from then, and it
// pays no overhead, because no worker met at a barrier.
#pragma once

#include <cstdint>
#include <deque>

#include "engine/platform/platform.h"
#include "engine/scheduler/command.h"
#include "sim/flash_model.h"
#include "sim/flow.h"

namespace leanstream::sim {

class ReadLane {
 public:
  // `flash` outlives the lane.
  explicit ReadLane(const platform::Flash& flash) : flash_(&flash) {}

  void push(const scheduler::Command& read, const ReadLoad& load, double now_s);
  bool empty() const { return queue_.empty(); }
  // The read in service or next in service. The lane is not empty.
  const scheduler::Command& front() const { return queue_.front().command; }
  const ReadLoad& front_load() const { return queue_.front().load; }
  // The flow of the front, which goes into service now.
  Flow front_flow(double now_s) const;
  void pop(double now_s);

 private:
  struct Queued {
    scheduler::Command command;
    ReadLoad load;
    bool found_idle = false;
    double entered_s = 0;  // once it is among the first `entered_`
  };

  void admit(double now_s);

  const platform::Flash* flash_;
  std::deque<Queued> queue_;
  std::size_t entered_ = 0;            // reads that the device has in its queue or in service
  std::int64_t requests_entered_ = 0;  // theirs
};

}  // namespace leanstream::sim
