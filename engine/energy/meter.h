// What a run took, from its commands and completions alone: so a run, its log's replay and the
// simulated device itself, which slows down when it is too hot, arrive at the same figures.
//
// Time goes from completion to completion. Within it a unit is busy as long as something of its
// own is under way; accelerator commands say themselves how long they worked. With flags a kernel
// is in the accelerator from begin_layer to end_layer, and polls whenever it does not work. The
// host thread looks for kLookNs of each wait in which it needs an answer of a unit (a prediction,
// or an accelerator command other than release), and all the time that a segment runs whose end
// nobody announces (flags and polling). Heat is integrated from one end of a layer or head to the
// next, over which power is taken as constant.
#pragma once

#include <optional>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/world.h"
#include "engine/energy/heat.h"
#include "engine/energy/use.h"

namespace leanstream::energy {

// From the end of one head (or the start) to that of the next: prefill, or a decoded token.
struct Stretch {
  Use use;
  Joules joules;            // zero where the platform does not state `energy`
  Temperatures end;         // zero where it does not state `thermal`
  TimeNs throttled_ns = 0;  // some unit was
};

class Meter {
 public:
  // `throttles`: units of this run slow down when they are too hot. The spec's platform outlives
  // the meter.
  Meter(const backend::WorldSpec& spec, bool throttles);

  // All commands and completions of the run, in its order. A run starts at 0.
  void submitted(std::span<const scheduler::Command> commands);
  void completed(std::span<const scheduler::Completion> batch);

  // One for each head that has ended.
  const std::vector<Stretch>& stretches() const { return stretches_; }
  // Of the run so far; nothing where the platform does not state `thermal`.
  std::optional<Temperatures> peak() const;
  // Now, until the next end of a layer or head.
  Throttled throttled() const { return heat_ ? heat_->throttled() : Throttled{}; }

 private:
  struct Outstanding {
    TicketId ticket = 0;
    scheduler::CommandKind kind = scheduler::CommandKind::read;
    std::size_t blocks = 0;     // read
    std::int64_t requests = 0;  // read
    double bytes = 0;           // of memory, but for a read
  };

  void advance(TimeNs now);
  void end(const Outstanding& command, const scheduler::Completion& completion);
  void end_read(const Outstanding& read, const scheduler::Completion& completion);
  void end_kernel();
  void step();

  backend::WorldSpec spec_;
  bool kernel_polls_;  // synchronisation by flags
  bool host_polls_;    // of a segment's end
  std::optional<Heat> heat_;
  std::vector<Outstanding> outstanding_;  // by ticket
  TimeNs now_ = 0;
  std::int32_t reads_ = 0, predictions_ = 0, releases_ = 0, awaited_ = 0;
  bool in_kernel_ = false;
  TimeNs kernel_ns_ = 0;       // in the present layer
  TimeNs kernel_work_ns_ = 0;  // of segments
  Use use_;                    // since the last step
  Stretch stretch_;            // up to the last step
  std::vector<Stretch> stretches_;
};

// A world whose use is metered; wraps any other. Both outlive it.
class MeteredBackend final : public backend::Backend {
 public:
  MeteredBackend(backend::Backend& inner, Meter& meter) : inner_(inner), meter_(meter) {}

  TimeNs now() override { return inner_.now(); }
  void submit(std::span<const scheduler::Command> commands) override {
    meter_.submitted(commands);
    inner_.submit(commands);
  }
  std::span<const scheduler::Completion> wait(TimeNs deadline) override {
    const auto batch = inner_.wait(deadline);
    meter_.completed(batch);
    return batch;
  }
  void ended() override { inner_.ended(); }
  void broken() override { inner_.broken(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return inner_.facts(); }

 private:
  backend::Backend& inner_;
  Meter& meter_;
};

}  // namespace leanstream::energy
