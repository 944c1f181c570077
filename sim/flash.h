// What both looks at the flash device have in common: reads, their faults, and time that stands
// still during a stall.
#pragma once

#include <memory>
#include <vector>

#include "engine/backend/world.h"
#include "engine/platform/flash_model.h"
#include "engine/platform/flash_reach.h"
#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"
#include "sim/bus.h"
#include "sim/pauses.h"

namespace leanstream::sim {

using platform::Pace;
using platform::ReadLoad;

inline constexpr std::int32_t kLanes = 16;  // lanes are 0 … 15

// A read command under way, and its answer once it has ended.
struct Read {
  scheduler::Command command;
  std::vector<std::size_t> firsts;  // first block of each request, and the number of blocks
  ReadLoad load;                    // what the device does of it: less after a cancel
  bool cancelled = false;           // in part at least
  bool failed = false;              // a request of it that the device began did
  std::int64_t ended = 0;           // requests
  double from_s = 0;                // submitted, and the workers have met
  scheduler::Status status = scheduler::Status::ok;
  std::vector<double> ends_s;  // segment_flash: of requests of unequal size
  std::vector<BlockId> not_read;
  std::vector<TimeNs> request_ns;
};

// The flash's own time: it stands still while the device is stalled.
class StallTime {
 public:
  explicit StallTime(const backend::FaultPlan& plan)
      : from_s_(plan.stall_from_ns == kNever ? kInfinity : seconds(plan.stall_from_ns)),
        for_s_(seconds(plan.stall_for_ns)) {}

  double to_device(double now_s) const {
    return now_s <= from_s_ ? now_s : std::max(from_s_, now_s - for_s_);
  }
  double from_device(double device_s) const {
    return device_s < from_s_ ? device_s : device_s + for_s_;
  }
  bool stalled(double now_s) const { return now_s >= from_s_ && now_s < from_s_ + for_s_; }

 private:
  double from_s_, for_s_;
};

// Dates of the public functions are those of the run, dates of the others the flash's own.
class Flash : public BusUser {
 public:
  explicit Flash(const backend::WorldSpec& spec);

  void submit(const scheduler::Command& read, double now_s);
  // Takes back what the device has not begun; nothing when the read has ended.
  void cancel(TicketId target, double now_s);
  // A fault begins or ends: `factor` of its bandwidth is left.
  void set_health(bool stalled, double factor);

  // Reads that have ended since the last clear; to be given back once they were reported.
  const std::vector<Read*>& ended() const { return ended_; }
  void clear_ended() { ended_.clear(); }
  void give_back(Read* read) { free_.push_back(read); }

  double demand() const final { return stalled_ || pauses_.now() ? 0.0 : device_demand(); }
  void set_share(double bytes_per_s, double now_s) final {
    if (pauses_.any()) pauses_.set_pace(requests_per_s(bytes_per_s), now_s);
    set_device_share(bytes_per_s, time_.to_device(now_s));
  }
  double next_s() const final {
    return std::min(time_.from_device(next_device_s()), pauses_.next_s());
  }
  void advance(double now_s) final {
    advance_device(time_.to_device(now_s));
    pauses_.advance(now_s);
  }

 protected:
  virtual void enqueue(Read& read, double now_s) = 0;
  virtual void take_back(TicketId target, double now_s) = 0;
  virtual double device_demand() const = 0;
  virtual void set_device_share(double bytes_per_s, double now_s) = 0;
  // That so many bytes/s serve, of those under way.
  virtual double requests_per_s(double bytes_per_s) const = 0;
  virtual double next_device_s() const = 0;
  virtual void advance_device(double now_s) = 0;

  // What happens to a request, by its number in the command.
  backend::ReadFault fault(const Read& read, std::int64_t request) const {
    return can_fail_ ? faults_.read(read.command.ticket, request) : backend::ReadFault::none;
  }
  bool can_fail() const { return can_fail_; }
  double late_by_s() const { return seconds(faults_.plan().late_by_ns); }
  // All that the device began of it, load.requests, has ended.
  void end(Read& read);
  TimeNs run_time_ns(double from_s, double to_s) const;
  double bandwidth() const { return bandwidth_; }
  // bytes/s of all transfers with so many bytes in the device.
  double reach(double in_flight_bytes) const {
    return platform::reach(device_, bandwidth_, in_flight_bytes);
  }
  // With the overhead.
  double bytes_of(const Read& read, std::size_t request) const {
    const std::size_t first = read.firsts[request], count = read.firsts[request + 1] - first;
    return static_cast<double>(block_bytes_ * count + device_.request_overhead_bytes) +
           pieces_bytes(read.command, first, count);
  }
  const platform::Flash& device() const { return device_; }

 private:
  // Of blocks that are no neighbours in memory, and of requests that the system merged.
  double pieces_bytes(const scheduler::Command& read, std::size_t first, std::size_t count) const;

  platform::Flash device_;
  Bytes block_bytes_;
  backend::FaultInjector faults_;
  bool can_fail_;
  std::int32_t merge_blocks_;  // by the system; a fault is of one request, so not where they occur
  StallTime time_;
  Pauses pauses_;
  bool stalled_ = false;
  double bandwidth_;  // min(bandwidth, link) with what a collapse leaves of it
  std::vector<std::unique_ptr<Read>> reads_;
  std::vector<Read*> free_;
  std::vector<Read*> ended_;
};

// Where `ticket` is among `size` rising ones, or `size`.
template <typename TicketAt>
std::size_t position(std::size_t size, TicketId ticket, TicketAt&& ticket_at) {
  std::size_t low = 0;
  for (std::size_t high = size; low < high;) {
    const std::size_t middle = (low + high) / 2;
    ticket_at(middle) < ticket ? low = middle + 1 : high = middle;
  }
  return low < size && ticket_at(low) == ticket ? low : size;
}

std::unique_ptr<Flash> make_flash(const backend::WorldSpec& spec);

}  // namespace leanstream::sim
