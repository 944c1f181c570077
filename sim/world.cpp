#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "engine/base/check.h"
#include "engine/platform/platform.h"
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

ReadLoad load_of(const Command& read, Bytes block_bytes) {
  ReadLoad load;
  for_each_request(read, [&](std::size_t, std::size_t) { ++load.requests; });
  load.bytes = block_bytes * read.blocks.size();
  return load;
}

}  // namespace

World::World(const backend::WorldSpec& spec)
    : spec_(spec),
      lanes_(static_cast<std::size_t>(kLanes), ReadLane(spec.platform->flash)),
      fabric_({spec.platform->flash.bandwidth_bytes_per_s,
               spec.platform->flash.link_bandwidth_bytes_per_s,
               spec.platform->memory.bandwidth_bytes_per_s},
              [this](std::span<const Port> lanes) { return ssd_capacity(lanes); }) {
  LEANSTREAM_CHECK(spec.platform->flash.queue_depth >= 1, "a flash device without a queue");
  LEANSTREAM_CHECK(spec.geometry.block_bytes > 0, "blocks without bytes");
}

void World::submit(std::span<const Command> commands) {
  for (const Command& command : commands) enqueue(command);
  for (Port lane = 0; lane < kLanes; ++lane) start_lane(lane);
  start_station(accelerator_);
  start_station(processor_);
}

void World::enqueue(const Command& command) {
  LEANSTREAM_CHECK(command.ticket == last_ticket_ + 1, "ticket {} after {}", command.ticket,
                   last_ticket_);
  last_ticket_ = command.ticket;
  switch (command.kind) {
    case CommandKind::read:
      LEANSTREAM_CHECK(command.lane >= 0 && command.lane < kLanes, "lane {} of {}", command.lane,
                       kLanes);
      lanes_[static_cast<std::size_t>(command.lane)].push(
          command, load_of(command, spec_.geometry.block_bytes), fabric_.clock_s());
      return;
    case CommandKind::predict:
      LEANSTREAM_CHECK(spec_.predictor != nullptr, "a prediction without a predictor");
      processor_.queue.push_back(command);
      return;
    default:
      accelerator_.queue.push_back(command);
      return;
  }
}

void World::start_lane(Port lane) {
  const auto i = static_cast<std::size_t>(lane);
  if (lane_busy_[i] || lanes_[i].empty()) return;
  lane_busy_[i] = true;
  fabric_.start(lane, lanes_[i].front_flow(fabric_.clock_s()));
}

// Commands that take no time end here, at the moment they reach the front.
void World::start_station(Station& station) {
  while (!station.busy && !station.queue.empty()) {
    const Command& command = station.queue.front();
    const Flow flow = command.kind == CommandKind::predict ? prediction_flow(spec_)
                                                           : accelerator_flow(spec_, command);
    if (flow.instant()) {
      ended_.push_back({command, 0});
      station.queue.pop_front();
      continue;
    }
    station.busy = true;
    station.work_from_s = fabric_.clock_s() + flow.delay_s;
    fabric_.start(station.port, flow);
  }
}

void World::end_flow(Port port) {
  if (port < kLanes) {
    const auto i = static_cast<std::size_t>(port);
    LEANSTREAM_CHECK(lane_busy_[i], "lane {} ended nothing", port);
    lane_busy_[i] = false;
    ended_.push_back({lanes_[i].front(), 0});
    lanes_[i].pop(fabric_.clock_s());
    start_lane(port);
    return;
  }
  Station& station = port == kAccelerator ? accelerator_ : processor_;
  LEANSTREAM_CHECK(station.busy, "station {} ended nothing", port);
  const double work_s = std::max(0.0, fabric_.clock_s() - station.work_from_s);
  ended_.push_back({station.queue.front(), std::llround(work_s * kNsPerSecond)});
  station.queue.pop_front();
  station.busy = false;
  start_station(station);
}

// The next flow to end up to `until_s`. Looks beyond only if one can end there: looking costs time.
std::optional<Port> World::next(double until_s) {
  const auto port = fabric_.next(until_s);
  if (port || fabric_.earliest_end_s() > until_s + kTogetherS) return port;
  return fabric_.next(until_s + kTogetherS);
}

// Moves to the next moment at which flows end and ends all of them; or to the deadline.
void World::advance(TimeNs deadline) {
  LEANSTREAM_CHECK(deadline != kNever || !fabric_.idle(),
                   "deadlock at {} ns: nothing is under way and there is no deadline", now_ns_);
  auto port =
      next(deadline == kNever ? std::numeric_limits<double>::infinity() : seconds(deadline));
  if (!port) {
    now_ns_ = std::max(now_ns_, deadline);
    return;
  }
  const double first_s = fabric_.clock_s();
  now_ns_ = std::max({now_ns_, last_flows_ns_ + 1, rounded_up(first_s)});
  last_flows_ns_ = now_ns_;
  end_flow(*port);
  const double until_s = std::max(first_s, seconds(now_ns_));
  while (fabric_.earliest_end_s() <= until_s + kTogetherS) {
    port = next(until_s);
    if (!port) break;
    end_flow(*port);
  }
}

std::span<const Completion> World::wait(TimeNs deadline) {
  batch_.clear();
  scores_used_ = 0;
  if (ended_.empty()) advance(deadline);
  if (ended_.empty()) {
    batch_.push_back({.time_ns = now_ns_, .status = Status::timed_out});
  } else {
    deliver();
  }
  return batch_;
}

void World::deliver() {
  std::sort(ended_.begin(), ended_.end(),
            [](const Ended& a, const Ended& b) { return a.command.ticket < b.command.ticket; });
  for (const Ended& ended : ended_) {
    Completion completion{.ticket = ended.command.ticket, .time_ns = now_ns_};
    if (ended.command.kind == CommandKind::predict) {
      completion.scores = predict(ended.command);
    } else if (ended.command.kind != CommandKind::read) {
      completion.work_ns = ended.work_ns;
    }
    batch_.push_back(completion);
  }
  ended_.clear();
}

std::span<const std::uint8_t> World::predict(const Command& command) {
  LEANSTREAM_CHECK(scores_used_ <= scores_.size(), "score buffers");
  if (scores_used_ == scores_.size()) {
    scores_.emplace_back(static_cast<std::size_t>(spec_.shape.ffn));
  }
  auto& codes = scores_[scores_used_++];
  spec_.predictor->predict(command.token, command.layer, command.feature, codes);
  return codes;
}

double World::ssd_capacity(std::span<const Port> lanes) {
  request_bytes_.clear();
  for (const Port lane : lanes) {
    const ReadLane& reads = lanes_[static_cast<std::size_t>(lane)];
    request_bytes_.push_back(reads.front_load().mean_bytes());
  }
  return shared_capacity(spec_.platform->flash, request_bytes_);
}

namespace {

[[maybe_unused]] const bool kRegistered = backend::register_world(
    "sim", "SimGrid: flash, link, memory bus, accelerator and processor as models; exact repeats",
    [](const backend::WorldSpec& spec) -> std::unique_ptr<backend::Backend> {
      return std::make_unique<World>(spec);
    });

}  // namespace

}  // namespace leanstream::sim
