#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/base/check.h"
#include "engine/platform/platform.h"
#include "sim/host.h"
#include "sim/roofline.h"

namespace leanstream::sim {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

// Dates are rounded up above the clock's rounding noise, so that a flow of whole nanoseconds keeps
// its length. Flows that end within half of that noise after a moment belong to the moment.
constexpr double kNoiseNs = 0.1;
constexpr double kTogetherS = 0.5 * kNoiseNs / kNsPerSecond;

TimeNs rounded_up(double clock_s) {
  return static_cast<TimeNs>(std::ceil(clock_s * kNsPerSecond - kNoiseNs));
}

// The flow on a unit that has this share of its speed left.
Flow slowed(const Flow& flow, double rate) {
  return {flow.bytes, flow.delay_s / rate, flow.bytes_per_s * rate};
}

// Of a span of time; kNever: not at all.
bool within(double now_s, TimeNs from_ns, TimeNs to_ns) {
  return from_ns != kNever && now_s >= seconds(from_ns) - kSameS && now_s < seconds(to_ns) - kSameS;
}

// An accelerator without work sleeps, unless it polls.
double accelerator_start_s(const backend::WorldSpec& spec) {
  return spec.synchronisation == backend::Synchronisation::polling
             ? 0
             : seconds(spec.platform->accelerator.start_ns);
}

}  // namespace

World::World(const backend::WorldSpec& spec)
    : spec_(spec),
      flash_(make_flash(spec)),
      accelerator_(ended_, accelerator_start_s(spec)),
      processor_(ended_, seconds(spec.platform->cpu.hand_over_ns)),
      bus_(spec.platform->memory.bandwidth_bytes_per_s, {flash_.get(), &accelerator_, &processor_}),
      scores_(spec),
      clock_(*this) {
  if (spec.platform->thermal && spec.heat.throttle) {
    meter_.emplace(spec, /*throttles=*/true);
    feel_heat();
  }
  const backend::FaultPlan& plan = spec.faults;
  for (const TimeNs date :
       {plan.stall_from_ns, plan.collapse_from_ns, plan.collapse_to_ns, plan.accelerator_dies_ns}) {
    if (date != kNever) fault_dates_.push_back(seconds(date));
  }
  if (plan.stall_from_ns != kNever) {
    fault_dates_.push_back(seconds(plan.stall_from_ns) + seconds(plan.stall_for_ns));
  }
  std::sort(fault_dates_.begin(), fault_dates_.end());
}

void World::submit(std::span<const Command> commands) {
  const double now_s = clock_.now_s();
  if (meter_) meter_->submitted(commands);
  const platform::Platform& device = *spec_.platform;
  prediction_waits_s_ = host_takes_time(device.cpu) && predicts_beside_scheduler(device.cpu)
                            ? hand_over_s(commands, device.flash)
                            : 0;
  for (const Command& command : commands) enqueue(command, now_s);
  collect();
}

void World::enqueue(const Command& command, double now_s) {
  LEANSTREAM_CHECK(command.ticket == last_ticket_ + 1, "ticket {} after {}", command.ticket,
                   last_ticket_);
  last_ticket_ = command.ticket;
  switch (command.kind) {
    case CommandKind::read:
      return flash_->submit(command, now_s);
    case CommandKind::cancel:
      LEANSTREAM_CHECK(command.target < command.ticket, "cancel {} of {}", command.ticket,
                       command.target);
      flash_->cancel(command.target, now_s);
      ended_.push_back({command, 0});
      return;
    case CommandKind::predict: {
      Flow flow = slowed(prediction_flow(spec_), cpu_rate_);
      flow.delay_s += prediction_waits_s_;
      return processor_.submit(command, flow, now_s);
    }
    default:
      return accelerator_.submit(
          command, slowed(accelerator_flow(spec_, command), accelerator_rate_), now_s);
  }
}

std::span<const Completion> World::wait(TimeNs deadline) {
  batch_.clear();
  scores_.reset();
  for (Read* read : lent_) flash_->give_back(read);
  lent_.clear();
  if (answers_.empty()) {
    waiting_ = true;
    until_s_ = deadline == kNever ? kInfinity : seconds(deadline);
    clock_.run();
  }
  if (!answers_.empty()) {
    deliver();
  } else {
    LEANSTREAM_CHECK(deadline != kNever,
                     "deadlock at {} ns: nothing can end and there is no deadline", now_ns_);
    now_ns_ = std::max(now_ns_, deadline);
    batch_.push_back({.time_ns = now_ns_, .status = Status::timed_out});
  }
  if (meter_) {
    meter_->completed(batch_);
    feel_heat();
  }
  return batch_;
}

// A unit runs at the speed that its temperature leaves it: what is submitted from now on, and the
// flash at once.
void World::feel_heat() {
  const energy::Throttled now = meter_->throttled();
  if (now == throttled_) return;
  throttled_ = now;
  const platform::Thermal& thermal = *spec_.platform->thermal;
  accelerator_rate_ = thermal.accelerator.rate(now.accelerator);
  cpu_rate_ = thermal.cpu.rate(now.cpu);
  flash_rate_ = thermal.flash.rate(now.flash);
  apply_faults(clock_.now_s());
}

// Up to until_s_; once something has ended that is the end of its nanosecond, and no time passes
// but for what ends within it.
double World::next_s(double now_s) {
  bus_.share(now_s);
  double next = bus_.next_s();
  if (next_fault_ < fault_dates_.size()) next = std::min(next, fault_dates_[next_fault_]);
  if (next <= until_s_ + kTogetherS) return std::max(next, now_s);
  return waiting_ && until_s_ > now_s ? until_s_ : kInfinity;
}

void World::advance(double now_s) {
  if (next_fault_ < fault_dates_.size() && fault_dates_[next_fault_] <= now_s + kSameS) {
    ++next_fault_;
    apply_faults(now_s);
  }
  bus_.advance(now_s);
  collect();
  if (!waiting_ || answers_.empty()) return;
  waiting_ = false;
  now_ns_ = std::max({now_ns_, last_end_ns_ + 1, rounded_up(now_s)});
  last_end_ns_ = now_ns_;
  until_s_ = std::max(now_s, seconds(now_ns_));
}

void World::apply_faults(double now_s) {
  const backend::FaultPlan& plan = spec_.faults;
  const TimeNs stall_to_ns =
      plan.stall_from_ns == kNever ? kNever : plan.stall_from_ns + plan.stall_for_ns;
  flash_->set_health(
      within(now_s, plan.stall_from_ns, stall_to_ns),
      flash_rate_ *
          (within(now_s, plan.collapse_from_ns, plan.collapse_to_ns) ? plan.collapse_factor : 1.0));
  if (within(now_s, plan.accelerator_dies_ns, kNever)) accelerator_.die();
}

void World::collect() {
  for (const Station::Ended& ended : ended_) {
    answers_.push_back({ended.command, ended.work_ns, nullptr});
  }
  ended_.clear();
  for (Read* read : flash_->ended()) answers_.push_back({read->command, 0, read});
  flash_->clear_ended();
}

void World::deliver() {
  std::sort(answers_.begin(), answers_.end(),
            [](const Answer& a, const Answer& b) { return a.command.ticket < b.command.ticket; });
  for (const Answer& answer : answers_) {
    Completion completion{.ticket = answer.command.ticket, .time_ns = now_ns_};
    if (answer.read != nullptr) {
      completion.status = answer.read->status;
      completion.not_read = answer.read->not_read;
      completion.request_ns = answer.read->request_ns;
      lent_.push_back(answer.read);
    } else if (answer.command.kind == CommandKind::predict) {
      completion.scores = scores_.of(answer.command);
    } else {
      completion.work_ns = answer.work_ns;
    }
    batch_.push_back(completion);
  }
  answers_.clear();
}

namespace {

[[maybe_unused]] const bool kRegistered = backend::register_world(
    "sim", "SimGrid: flash, link, memory bus, accelerator and processor as models; exact repeats",
    [](const backend::WorldSpec& spec) -> std::unique_ptr<backend::Backend> {
      auto devices = std::make_unique<World>(spec);
      if (!host_takes_time(spec.platform->cpu)) return devices;
      return std::make_unique<Host>(spec, std::move(devices));
    },
    backend::NeedsLog::no, nullptr, backend::FollowsPlatform::yes);

}  // namespace

}  // namespace leanstream::sim
