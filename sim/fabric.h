// The SimGrid platform: who shares which bandwidth, and when each flow ends. The only part of the
// project that includes SimGrid.
//
//   lane port ─┐
//   lane port ─┴─ ssd ── link ─┐
//   accelerator port ──────────┼─ dram        bandwidth is shared max-min fair, per flow
//   processor port ────────────┘
//
// Each command is one SimGrid communication over the links it occupies. A private port bounds the
// rate of each flow; the delay is the latency of its route.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "sim/flow.h"

namespace leanstream::sim {

// Where flows start; one at a time each.
using Port = std::int32_t;
inline constexpr Port kLanes = 16;  // ports 0 … 15: I/O workers
inline constexpr Port kAccelerator = kLanes;
inline constexpr Port kProcessor = kLanes + 1;
inline constexpr Port kPorts = kLanes + 2;

// bytes/s that the flash gives to the lanes that transfer now (their delay is over).
using SsdCapacity = std::function<double(std::span<const Port> lanes)>;

// Only one may exist in a process, ever: SimGrid's clock and options are the process's own.
// All but run() is for the body that run() runs.
class Fabric {
 public:
  struct Bandwidths {  // bytes/s
    double ssd = 0;
    double link = 0;
    double dram = 0;
  };

  // Without ssd_capacity the ssd gives `ssd` always.
  explicit Fabric(const Bandwidths& bandwidths, SsdCapacity ssd_capacity = {});
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Runs `body` as SimGrid's only actor until it returns; once. What it throws comes out here. A
  // deadlock inside SimGrid is a bug of ours and ends the process.
  void run(const std::function<void()>& body);

  // Seconds since the start of the run.
  double clock_s() const;

  // Lets no time pass. The port is free and the flow not instant.
  void start(Port port, const Flow& flow);

  // Lets time pass until a flow ends, and returns its port; at until_s (≥ clock, may be infinite
  // where something runs) nothing. Flows that end together come one by one.
  std::optional<Port> next(double until_s);

  bool idle() const;
  // No running flow can end before this; infinite when idle.
  double earliest_end_s() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leanstream::sim
