#include "sim/segment_flash.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace leanstream::sim {

using backend::ReadFault;

SegmentFlash::SegmentFlash(const backend::WorldSpec& spec)
    : Flash(spec), overhead_s_(seconds(device().io_segment_overhead_ns)) {}

void SegmentFlash::enqueue(Read& read, double now_s) {
  Lane& lane = lanes_[static_cast<std::size_t>(read.command.lane)];
  const bool idle = lane.queue.empty();
  if (idle && lane.late == 0) read.from_s += overhead_s_;
  set_ends(read);
  Queued queued{&read, pace_of(device(), read.load.mean_bytes()), read.from_s};
  if (!idle) {
    const Queued& last = lane.queue[lane.queue.size() - 1];
    const double taken_s = static_cast<double>(last.read->load.requests) * last.pace.stage_s;
    queued.stage_s = std::max(read.from_s, last.stage_s + taken_s);
  }
  lane.queue.push_back(queued);
  std::int64_t at_once = 0;
  for (std::size_t i = 0; i < lane.queue.size() && at_once < device().queue_depth; ++i) {
    at_once += lane.queue[i].read->load.requests;
  }
  at_once = std::min<std::int64_t>(at_once, device().queue_depth);
  lane.at_once = idle ? at_once : std::max(at_once, lane.at_once);
  busy_ |= std::uint32_t{1} << read.command.lane;
  if (idle) start(lane, 0, now_s);
}

// T of each request, where they are of unequal size.
void SegmentFlash::set_ends(Read& read) {
  read.ends_s.clear();
  sizes_.clear();
  bool equal = true;
  for (std::size_t i = 0; i + 1 < read.firsts.size(); ++i) {
    sizes_.push_back(bytes_of(read, i));
    equal = equal && sizes_[i] == sizes_[0];
  }
  if (!equal) together_s(device(), sizes_, read.ends_s);
}

double SegmentFlash::together_of(const Queued& queued, std::int64_t requests) {
  const auto& ends_s = queued.read->ends_s;
  return ends_s.empty() ? queued.pace.together_s(requests)
                        : ends_s[static_cast<std::size_t>(requests - 1)];
}

// From the beginning of its service to the end of the front's first `requests`, alone.
double SegmentFlash::service_s(const Lane& lane, std::int64_t requests) const {
  if (requests == 0) return 0;
  const Queued& front = lane.queue.front();
  const Pace& pace = front.pace;
  const double together_s = front.read->from_s - lane.since_s + together_of(front, requests);
  if (lane.before == 0) return together_s;
  const std::int64_t beyond = requests + 1 - pace.channels;  // the last m may end in step
  return std::max({together_s,
                   pace.together_s(lane.before + requests) - pace.together_s(lane.before),
                   lane.owed / peak(device()) + static_cast<double>(beyond) * pace.shared_s});
}

double SegmentFlash::served_s(const Lane& lane, double now_s) const {
  return lane.service_s - lane.transfer.left_alone_s(now_s);
}

// Requests of the front.
std::int64_t SegmentFlash::ended(const Lane& lane, double now_s) const {
  const double served = served_s(lane, now_s) + kSameS;
  std::int64_t low = 0;
  for (std::int64_t high = lane.queue.front().read->load.requests; low < high;) {
    const std::int64_t middle = (low + high + 1) / 2;
    service_s(lane, middle) <= served ? low = middle : high = middle - 1;
  }
  return low;
}

// Requests of the read at that place of the queue.
std::int64_t SegmentFlash::begun(const Lane& lane, std::size_t at, double now_s) const {
  const Queued& queued = lane.queue[at];
  if (now_s + kSameS < queued.stage_s) return 0;
  const double turn_s = queued.pace.stage_s * std::popcount(busy_);  // lanes take in turn
  const auto taken = static_cast<std::int64_t>((now_s + kSameS - queued.stage_s) / turn_s) + 1;
  std::int64_t room = queued.pace.depth + ended(lane, now_s);
  for (std::size_t i = 0; i < at; ++i) room -= lane.queue[i].read->load.requests;
  return std::clamp<std::int64_t>(std::min(taken, room), 0, queued.read->load.requests);
}

void SegmentFlash::start(Lane& lane, std::int64_t before, double now_s) {
  Queued& front = lane.queue.front();
  const Read& read = *front.read;
  front.at_once = lane.at_once;
  front.pace = pace_of(device(), read.load.mean_bytes(), front.at_once);
  lane.before = before;
  lane.owed = before == 0 ? 0 : lane.still_owed;
  lane.since_s = now_s;
  lane.service_s = service_s(lane, read.load.requests);
  const double together_s = together_of(lane.queue.front(), read.load.requests);
  if (read.from_s + together_s - now_s >= lane.service_s) lane.before = 0;  // a gap
  const Pace& pace = lane.queue.front().pace;
  const double latency_s = std::max(0.0, read.from_s + pace.latency_s - now_s);
  const double taken_s = static_cast<double>(read.load.requests) * pace.stage_s;
  lane.transfer_s = std::max(lane.service_s - latency_s, std::min(lane.service_s, taken_s));
  LEANSTREAM_CHECK(lane.transfer_s > 0, "read {}: {} s of service, {} s of latency",
                   read.command.ticket, lane.service_s, latency_s);
  const double delay_s = lane.service_s - lane.transfer_s;
  const double bytes = std::min(lane.owed + read.load.bytes, peak(device()) * lane.transfer_s);
  lane.still_owed = lane.owed + read.load.bytes - bytes;
  lane.transfer = Transfer({bytes, delay_s, bytes / lane.transfer_s}, now_s);
}

void SegmentFlash::pop(Lane& lane, double now_s) {
  const Read& read = *lane.queue.front().read;
  const std::int64_t before = lane.before + read.load.requests;
  lane.queue.pop_front();
  if (!lane.queue.empty()) {
    start(lane, before, now_s);
  } else {
    busy_ &= ~(std::uint32_t{1} << read.command.lane);
  }
}

void SegmentFlash::end_front(Lane& lane, double now_s) {
  Read& read = *lane.queue.front().read;
  double end_s = now_s;
  for (std::int64_t i = 0; can_fail() && i < read.load.requests; ++i) {
    const ReadFault what = fault(read, i);
    read.failed |= what == ReadFault::error || what == ReadFault::short_read;
    if (what != ReadFault::late) continue;
    end_s = std::max(end_s, now_s - lane.service_s + service_s(lane, i + 1) + late_by_s());
  }
  pop(lane, now_s);
  if (end_s == now_s) return end(read);
  ++lane.late;
  late_.push_back({end_s, &read});
  std::push_heap(late_.begin(), late_.end());
}

void SegmentFlash::take_back(TicketId target, double now_s) {
  for (Lane& lane : lanes_) {
    const std::size_t at = position(lane.queue.size(), target, [&](std::size_t i) {
      return lane.queue[i].read->command.ticket;
    });
    if (at == lane.queue.size()) continue;
    const std::int64_t left = begun(lane, at, now_s);
    if (left < lane.queue[at].read->load.requests) shorten(lane, at, left, now_s);
    return;
  }
}

void SegmentFlash::shorten(Lane& lane, std::size_t at, std::int64_t requests, double now_s) {
  Read& read = *lane.queue[at].read;
  const double served = at == 0 ? served_s(lane, now_s) : 0;
  read.cancelled = true;
  read.load = {requests, read.load.mean_bytes() * static_cast<double>(requests)};
  for (std::size_t i = at + 1; i < lane.queue.size(); ++i) {
    const Queued& before = lane.queue[i - 1];
    Queued& after = lane.queue[i];
    const double taken_s = static_cast<double>(before.read->load.requests) * before.pace.stage_s;
    after.stage_s = std::min(after.stage_s, std::max(now_s, before.stage_s + taken_s));
  }
  if (requests > 0) {
    if (at > 0) return;
    lane.service_s = service_s(lane, requests);
    lane.transfer.cut_alone_s(std::max(0.0, lane.service_s - served), now_s);
    return;
  }
  if (at == 0) {
    pop(lane, now_s);
  } else {
    lane.queue.erase(at);
  }
  end(read);
}

template <typename Visit>
void SegmentFlash::for_each_moving(Visit&& visit) const {
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    const Lane& lane = lanes_[static_cast<std::size_t>(std::countr_zero(left))];
    if (lane.transfer.moving()) visit(lane);
  }
}

// Requests per second that each lane may transfer at most, when all get so many bytes/s and the
// host takes no more requests from all than it can. A lane alone is always within that.
double SegmentFlash::level(double bytes_per_s) const {
  if (std::has_single_bit(busy_)) {
    const Lane& lane = lanes_[static_cast<std::size_t>(std::countr_zero(busy_))];
    const double size = lane.queue.front().read->load.mean_bytes();
    return lane.transfer.bound() <= bytes_per_s ? kInfinity : bytes_per_s / size;
  }
  by_bytes_.clear();
  by_requests_.clear();
  for_each_moving([this](const Lane& lane) {
    const Queued& front = lane.queue.front();
    const auto requests = static_cast<double>(front.read->load.requests);
    by_bytes_.push_back({lane.transfer.bound(), front.read->load.mean_bytes()});
    by_requests_.push_back({requests / lane.transfer_s, 1});
  });
  return std::min(fair_level(bytes_per_s, by_bytes_),
                  fair_level(device().requests_per_s, by_requests_));
}

// Of all lanes in service, each as if it kept its queue full.
double SegmentFlash::in_flight_bytes() const {
  double bytes = 0;
  for_each_moving([&](const Lane& lane) {
    const Queued& front = lane.queue.front();
    bytes += front.read->load.mean_bytes() * static_cast<double>(front.at_once);
  });
  return bytes;
}

double SegmentFlash::device_demand() const {
  if (busy_ == 0) return 0;
  const double most = level(reach(in_flight_bytes()));
  double demand = 0;
  for_each_moving([&](const Lane& lane) {
    const double size = lane.queue.front().read->load.mean_bytes();
    demand += std::min(lane.transfer.bound(), most * size);
  });
  return demand;
}

void SegmentFlash::set_device_share(double bytes_per_s, double now_s) {
  if (busy_ == 0) return;
  const double most = level(bytes_per_s);
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    Lane& lane = lanes_[static_cast<std::size_t>(std::countr_zero(left))];
    const double size = lane.queue.front().read->load.mean_bytes();
    lane.transfer.set_rate(std::min(lane.transfer.bound(), most * size), now_s);
  }
}

double SegmentFlash::requests_per_s(double bytes_per_s) const {
  if (busy_ == 0) return 0;
  const double most = level(bytes_per_s);
  double sum = 0;
  for_each_moving([&](const Lane& lane) {
    sum += std::min(lane.transfer.bound() / lane.queue.front().read->load.mean_bytes(), most);
  });
  return sum;
}

double SegmentFlash::next_device_s() const {
  double next = late_.empty() ? kInfinity : late_.front().end_s;
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(left));
    next = std::min(next, lanes_[i].transfer.next_s());
  }
  return next;
}

void SegmentFlash::advance_device(double now_s) {
  while (!late_.empty() && late_.front().end_s <= now_s + kSameS) {
    Read& read = *late_.front().read;
    std::pop_heap(late_.begin(), late_.end());
    late_.pop_back();
    --lanes_[static_cast<std::size_t>(read.command.lane)].late;
    end(read);
  }
  for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
    Lane& lane = lanes_[static_cast<std::size_t>(std::countr_zero(left))];
    if (lane.transfer.next_s() > now_s + kSameS) continue;
    if (lane.transfer.step()) end_front(lane, now_s);
  }
}

}  // namespace leanstream::sim
