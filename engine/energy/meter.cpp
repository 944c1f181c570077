#include "engine/energy/meter.h"

#include <algorithm>

#include "engine/backend/traffic.h"
#include "engine/base/check.h"

namespace leanstream::energy {

using backend::Synchronisation;
using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

Meter::Meter(const backend::WorldSpec& spec, bool throttles)
    : spec_(spec),
      kernel_polls_(spec.synchronisation == Synchronisation::flags),
      host_polls_(spec.synchronisation != Synchronisation::device) {
  const auto& thermal = spec.platform->thermal;
  if (!thermal) return;
  LEANSTREAM_CHECK(spec.platform->energy, "platform {} warms without power", spec.platform->name);
  heat_.emplace(*thermal, spec.heat.start_c.value_or(thermal->ambient_c), throttles);
}

void Meter::submitted(std::span<const Command> commands) {
  for (const Command& command : commands) {
    Outstanding& added = outstanding_.emplace_back();
    added.ticket = command.ticket;
    added.kind = command.kind;
    switch (command.kind) {
      case CommandKind::read:
        added.blocks = command.blocks.size();
        for_each_request(command, [&](std::size_t, std::size_t) { ++added.requests; });
        ++reads_;
        break;
      case CommandKind::predict:
        added.bytes = static_cast<double>(spec_.prediction.bytes);
        ++predictions_;
        break;
      case CommandKind::cancel:
        break;
      default:
        added.bytes = backend::accelerator_bytes(spec_, command);
        ++(command.kind == CommandKind::release ? releases_ : awaited_);
    }
  }
}

void Meter::completed(std::span<const Completion> batch) {
  for (const Completion& completion : batch) {
    advance(completion.time_ns);
    if (completion.status == Status::timed_out) continue;
    const auto found = std::find_if(outstanding_.begin(), outstanding_.end(),
                                    [&](const auto& o) { return o.ticket == completion.ticket; });
    LEANSTREAM_CHECK(found != outstanding_.end(), "ticket {} ends without having begun",
                     completion.ticket);
    const Outstanding command = *found;
    outstanding_.erase(found);
    end(command, completion);
  }
}

void Meter::advance(TimeNs now) {
  const TimeNs dt = now - now_;
  now_ = now;
  use_.time_ns += dt;
  if (reads_ > 0) use_.flash_ns += dt;
  if (predictions_ > 0) use_.prediction_ns += dt;
  if (in_kernel_) kernel_ns_ += dt;
  if (host_polls_ && in_kernel_ && releases_ > 0) {
    use_.host_ns += dt;
  } else if (predictions_ > 0 || awaited_ > 0) {
    use_.host_ns += std::min(dt, backend::kLookNs);
  }
}

void Meter::end(const Outstanding& command, const Completion& completion) {
  if (command.kind == CommandKind::read) return end_read(command, completion);
  use_.memory_bytes += command.bytes;
  switch (command.kind) {
    case CommandKind::predict:
      --predictions_;
      return;
    case CommandKind::release:
      --releases_;
      use_.accelerator_ns += completion.work_ns;
      kernel_work_ns_ += completion.work_ns;
      return;
    case CommandKind::attention:
      --awaited_;
      use_.accelerator_ns += completion.work_ns;
      return;
    case CommandKind::begin_layer:
      --awaited_;
      in_kernel_ = true;
      return;
    case CommandKind::end_layer:
      --awaited_;
      end_kernel();
      return step();
    case CommandKind::head:
      --awaited_;
      use_.accelerator_ns += completion.work_ns;
      step();
      if (heat_) stretch_.end = heat_->now();
      stretches_.push_back(std::exchange(stretch_, {}));
      return;
    case CommandKind::read:
    case CommandKind::cancel:
      return;
  }
}

void Meter::end_read(const Outstanding& read, const Completion& completion) {
  --reads_;
  const bool none = completion.status == Status::failed;
  const std::size_t lost = none ? read.blocks : completion.not_read.size();
  const Bytes bytes = static_cast<Bytes>(read.blocks - lost) * spec_.geometry.block_bytes;
  use_.requests += read.requests;
  use_.flash_bytes += bytes;
  use_.memory_bytes += static_cast<double>(bytes);
}

// Work is rounded by itself, so it may be some nanoseconds more than the time of the kernel.
void Meter::end_kernel() {
  in_kernel_ = false;
  const TimeNs polled = std::max<TimeNs>(0, kernel_ns_ - kernel_work_ns_);
  if (kernel_polls_) use_.polling_ns += polled;
  kernel_ns_ = kernel_work_ns_ = 0;
}

void Meter::step() {
  if (spec_.platform->energy) {
    const Joules taken = joules(use_, *spec_.platform, throttled());
    stretch_.joules.add(taken);
    if (throttled().any()) stretch_.throttled_ns += use_.time_ns;
    if (heat_ && use_.time_ns > 0) heat_->step(taken, seconds(use_.time_ns));
  }
  stretch_.use.add(use_);
  use_ = {};
}

std::optional<Temperatures> Meter::peak() const {
  return heat_ ? std::optional(heat_->peak()) : std::nullopt;
}

}  // namespace leanstream::energy
