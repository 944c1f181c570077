// What the units of a device did in a stretch of time, and what that takes.
#pragma once

#include "engine/base/types.h"
#include "engine/platform/platform.h"

namespace leanstream::energy {

// Busy times and bytes. A unit's busy time is never more than `time_ns`.
struct Use {
  TimeNs time_ns = 0;         // of the stretch
  TimeNs accelerator_ns = 0;  // at work
  TimeNs polling_ns = 0;      // a kernel in it waits for blocks or for a segment's flags
  TimeNs prediction_ns = 0;   // a prediction runs, on one core
  TimeNs host_ns = 0;         // the scheduler's thread looks for an answer, on one core
  TimeNs flash_ns = 0;        // at least one read in flight
  std::int64_t requests = 0;  // device reads, each with its processor time
  Bytes flash_bytes = 0;      // read, padding included
  double memory_bytes = 0;    // what flash, accelerator and predictions moved over the bus

  void add(const Use& other);
};

// Core-seconds: predictions, the looking host, and what each read costs any core; at most all
// cores all the time. Zero for reads where the platform does not state it.
double core_s(const Use& use, const platform::Cpu& cpu);

// By how many steps the frequency of a unit that became too hot is below its highest.
struct Throttled {
  std::int32_t accelerator = 0;
  std::int32_t cpu = 0;
  std::int32_t flash = 0;

  bool any() const { return accelerator > 0 || cpu > 0 || flash > 0; }
  bool operator==(const Throttled&) const = default;
};

struct Joules {
  double board = 0;
  double accelerator = 0;
  double cpu = 0;
  double flash = 0;
  double memory = 0;

  void add(const Joules& other);
  double sum() const { return board + accelerator + cpu + flash + memory; }
};

// By component, with w the watts of the platform's section `energy`:
//
//   board        w · time
//   accelerator  idle · time + p · ((active − idle) · at work + (polling − idle) · polling)
//   cpu          idle · time + p · core · core_s
//   flash        idle · time + p · (active − idle) · in flight + bytes · j/byte
//   memory       idle · time + bytes · j/byte
//
// p is the unit's power at its frequency, 1 at the highest. The platform states `energy`, and
// `thermal` where something is throttled.
Joules joules(const Use& use, const platform::Platform& platform, const Throttled& throttled = {});

}  // namespace leanstream::energy
