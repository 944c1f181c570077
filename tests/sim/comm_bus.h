// A bus made of SimGrid's own network: every flow is one communication over a private link, which
// bounds its rate, and a common one, shared by SimGrid's max-min solver. Shares no code with
// sim/bus.h, which is checked against it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "sim/flow.h"

namespace leanstream::sim {

// Only one may exist in a process, ever, and no Clock beside it: SimGrid's clock and options are
// the process's own. All but run() is for the body that run() runs.
class CommBus {
 public:
  CommBus(double bytes_per_s, int ports);
  ~CommBus();
  CommBus(const CommBus&) = delete;
  CommBus& operator=(const CommBus&) = delete;

  // Runs `body` as SimGrid's only actor.
  void run(const std::function<void()>& body);

  // Seconds since the start of the run.
  double clock_s() const;

  // Lets no time pass. One flow at a port at a time, of whole bytes, at least one.
  void start(int port, const Flow& flow);

  // Lets time pass until a flow ends, and returns its port; at until_s nothing. Flows that end
  // together come one by one.
  std::optional<int> next(double until_s);

  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leanstream::sim
