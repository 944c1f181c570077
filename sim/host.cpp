#include "sim/host.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace leanstream::sim {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

namespace {

template <typename T>
std::span<const T> kept(std::span<const T> values, backend::BufferPool<T>& pool) {
  if (values.empty()) return {};
  auto& copy = pool.take();
  copy.assign(values.begin(), values.end());
  return copy;
}

}  // namespace

bool host_takes_time(const platform::Cpu& cpu) {
  return cpu.step_ns > 0 || cpu.wake_up_ns > 0 || cpu.hand_over_ns > 0;
}

double hand_over_s(std::span<const Command> commands, const platform::Flash& flash) {
  std::int64_t requests = 0;
  for (const Command& command : commands) {
    if (command.kind != CommandKind::read) continue;
    scheduler::for_each_request(command, [&](std::size_t, std::size_t) { ++requests; });
  }
  return static_cast<double>(std::min<std::int64_t>(requests, flash.queue_depth)) /
         flash.requests_per_s;
}

bool predicts_beside_scheduler(const platform::Cpu& cpu) {
  return cpu.cores < 3;
}

Host::Host(const backend::WorldSpec& spec, std::unique_ptr<backend::Backend> devices)
    : cpu_(spec.platform->cpu), flash_(spec.platform->flash), devices_(std::move(devices)) {}

void Host::submit(std::span<const Command> commands) {
  clear_lent();
  collect_until(now_ns_ + cpu_.step_ns);
  for (const Command& command : commands) {
    switch (command.kind) {
      case CommandKind::read:
        reads_.push_back(command.ticket);
        break;
      case CommandKind::predict:
        predictions_.push_back(command.ticket);
        awaited_.push_back(command.ticket);
        break;
      case CommandKind::cancel:
      case CommandKind::release:
        break;
      default:
        awaited_.push_back(command.ticket);
    }
  }
  devices_->submit(commands);
  waits_from_ns_ = devices_->now() + std::llround(hand_over_s(commands, flash_) * kNsPerSecond);
}

std::span<const Completion> Host::wait(TimeNs deadline) {
  clear_lent();
  if (batch_.empty()) collect_until(std::min(waits_from_ns_, deadline));
  if (batch_.empty()) {
    for (const Completion& c : devices_->wait(deadline)) take(c);
    const TimeNs ended = devices_->now();
    const bool looks =
        !awaited_.empty() && (predictions_.empty() || !predicts_beside_scheduler(cpu_));
    const bool slept = !looks || ended - waits_from_ns_ > backend::kLookNs;
    if (slept) collect_until(ended + wake_up_ns());
  }
  now_ns_ = std::max(now_ns_, devices_->now());
  for (Completion& c : batch_) {
    c.time_ns = now_ns_;
    std::erase(awaited_, c.ticket);
    std::erase(reads_, c.ticket);
    std::erase(predictions_, c.ticket);
  }
  lent_ = true;
  return batch_;
}

TimeNs Host::wake_up_ns() const {
  TimeNs wake_up_ns = cpu_.hand_over_ns;
  for (const Completion& c : batch_) {
    if (c.status == Status::timed_out || std::ranges::find(reads_, c.ticket) != reads_.end()) {
      return 0;
    }
    if (std::ranges::find(predictions_, c.ticket) == predictions_.end()) {
      wake_up_ns = cpu_.wake_up_ns;
    }
  }
  return wake_up_ns;
}

void Host::clear_lent() {
  if (!lent_) return;
  lent_ = false;
  batch_.clear();
  codes_.reset();
  blocks_.reset();
  times_.reset();
  numbers_.reset();
}

// The devices' clock is at the date afterwards.
void Host::collect_until(TimeNs date) {
  while (devices_->now() < date) {
    for (const Completion& c : devices_->wait(date)) {
      if (c.status != Status::timed_out) take(c);
    }
  }
}

void Host::take(const Completion& completion) {
  Completion& c = batch_.emplace_back(completion);
  c.scores = kept(completion.scores, codes_);
  c.not_read = kept(completion.not_read, blocks_);
  c.request_ns = kept(completion.request_ns, times_);
  c.nll = kept(completion.nll, numbers_);
}

}  // namespace leanstream::sim
