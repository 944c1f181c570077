// The scheduler's own thread, which the devices wait for: it takes time to decide, and it may sleep
// when they answer.
//
//   seen at T ── cpu.step ──► commands reach their devices ──► waits: looks for backend::kLookNs if
//   it needs an answer of a unit (a prediction, an accelerator command other than a release) and
//   no prediction is made on its own processor, then sleeps; who sleeps sees what has ended
//   cpu.wake_up after the end; a prediction cpu.hand_over after it, as its thread has just been at
//   work on this processor; a read at once, since flash.latency has been measured by a thread that
//   slept
//
// What ends while the thread is busy is seen when it waits, as one batch. It is busy too while it
// hands requests over, as fast as the flash takes them (flash.requests). On a platform that states
// neither cpu.step nor cpu.wake_up the thread takes no time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/buffer_pool.h"
#include "engine/backend/world.h"
#include "engine/platform/platform.h"

namespace leanstream::sim {

// Devices without a host that takes time, seen through one that does.
class Host final : public backend::Backend {
 public:
  // The spec's platform outlives the host.
  Host(const backend::WorldSpec& spec, std::unique_ptr<backend::Backend> devices);

  TimeNs now() override { return now_ns_; }
  void submit(std::span<const scheduler::Command> commands) override;
  std::span<const scheduler::Completion> wait(TimeNs deadline) override;

 private:
  // What whoever slept pays for batch_. That of a read is part of the flash's latency, which a
  // thread has measured that slept too; a deadline is met.
  TimeNs wake_up_ns() const;
  void clear_lent();
  void collect_until(TimeNs date);  // what ends up to then goes to batch_
  void take(const scheduler::Completion& completion);

  platform::Cpu cpu_;
  platform::Flash flash_;
  std::unique_ptr<backend::Backend> devices_;
  TimeNs now_ns_ = 0;              // of the last batch
  TimeNs waits_from_ns_ = 0;       // its commands are handed over
  std::vector<TicketId> awaited_;  // under way, and answers that the thread needs
  std::vector<TicketId> reads_;    // under way
  std::vector<TicketId> predictions_;
  bool lent_ = false;  // the caller has seen batch_
  std::vector<scheduler::Completion> batch_;
  backend::BufferPool<std::uint8_t> codes_;  // what the spans of batch_ point into
  backend::BufferPool<BlockId> blocks_;
  backend::BufferPool<TimeNs> times_;
  backend::BufferPool<float> numbers_;
};

// Whether the platform says what its host takes.
bool host_takes_time(const platform::Cpu& cpu);

// How long the thread is busy that hands over the reads among these commands; of a full queue the
// rest follows as others end.
double hand_over_s(std::span<const scheduler::Command> commands, const platform::Flash& flash);

// Whether predictions are made on the processor of the scheduler's thread: the accelerator has the
// other one. They begin when it has handed over, and it does not look for answers meanwhile.
bool predicts_beside_scheduler(const platform::Cpu& cpu);

}  // namespace leanstream::sim
