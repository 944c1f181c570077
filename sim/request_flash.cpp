#include "sim/request_flash.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/check.h"

namespace leanstream::sim {

using backend::ReadFault;

RequestFlash::RequestFlash(const backend::WorldSpec& spec)
    : Flash(spec),
      latency_s_(seconds(device().latency_ns)),
      stage_s_(1.0 / device().requests_per_s),
      overhead_s_(seconds(device().io_segment_overhead_ns)),
      channel_count_(platform::refined(device()) ? std::numeric_limits<std::size_t>::max()
                                                 : static_cast<std::size_t>(channels(device()))),
      spread_(device().spread, spec.seed) {}

void RequestFlash::enqueue(Read& read, double now_s) {
  take_until(now_s);
  const std::int32_t i = read.command.lane;
  Lane& lane = lanes_[static_cast<std::size_t>(i)];
  if (lane.reads++ == 0) read.from_s += overhead_s_;
  read.ended = 0;
  read.request_ns.resize(static_cast<std::size_t>(read.load.requests));
  lane.waiting.push_back({&read, 0});
  mark(i);
}

// Tickets rise along a lane.
void RequestFlash::take_back(TicketId target, double now_s) {
  take_until(now_s);
  for (std::int32_t i = 0; i < kLanes; ++i) {
    auto& waiting = lanes_[static_cast<std::size_t>(i)].waiting;
    const std::size_t at = position(waiting.size(), target,
                                    [&](std::size_t k) { return waiting[k].read->command.ticket; });
    if (at == waiting.size()) continue;
    const Cursor cursor = waiting[at];
    Read& read = *cursor.read;
    waiting.erase(at);
    mark(i);
    read.cancelled = true;
    read.load.requests = static_cast<std::int64_t>(cursor.request);
    read.request_ns.resize(cursor.request);
    end_if_done(read);
    return;
  }
}

double RequestFlash::device_demand() const {
  double demand = 0;
  for (const Channel& channel : channels_) demand += channel.transfer.bound();
  return std::min(demand, reach(in_flight_bytes_));
}

void RequestFlash::set_device_share(double bytes_per_s, double now_s) {
  if (channels_.empty()) return;
  const double each = bytes_per_s / static_cast<double>(channels_.size());
  for (Channel& channel : channels_) {
    channel.transfer.set_rate(std::min(each, channel.transfer.bound()), now_s);
  }
}

double RequestFlash::requests_per_s(double bytes_per_s) const {
  double sum = 0;
  for (const Channel& channel : channels_) {
    const double each = bytes_per_s / static_cast<double>(channels_.size());
    sum += std::min(each, channel.transfer.bound()) / channel.request.work;
  }
  return sum;
}

double RequestFlash::next_device_s() const {
  double next = late_.empty() ? kInfinity : late_.front().end_s;
  for (const Channel& channel : channels_) next = std::min(next, channel.transfer.next_s());
  if (channels_.size() == channel_count_) return next;
  if (!ready_.empty()) {
    next = std::min(next, ready_.front().ready_s);
    if (spread_.least() == 1) return next;  // what is not taken yet comes later
  }
  if (takable_ == 0) return next;
  double taken_s = 0;
  next_lane(taken_s);
  return std::min(next, taken_s + latency_s_ * spread_.least());
}

// Slots that become free come first: what is taken then may be ready at once.
void RequestFlash::advance_device(double now_s) {
  take_until(now_s);
  while (!late_.empty() && late_.front().end_s <= now_s + kSameS) {
    const Request request = late_.front().request;
    std::pop_heap(late_.begin(), late_.end());
    late_.pop_back();
    finish(request, now_s);
  }
  for (std::size_t i = 0; i < channels_.size();) {
    if (channels_[i].transfer.next_s() > now_s + kSameS) {
      ++i;
      continue;
    }
    const Request request = channels_[i].request;
    channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(i));
    if (fault(*request.read, static_cast<std::int64_t>(request.number)) == ReadFault::late) {
      late_.push_back({now_s + late_by_s(), request});
      std::push_heap(late_.begin(), late_.end());
    } else {
      finish(request, now_s);
    }
  }
  take_until(now_s);
  while (channels_.size() < channel_count_ && !ready_.empty() &&
         ready_.front().ready_s <= now_s + kSameS) {
    const Request& request = ready_.front();
    const double stream = device().stream_bandwidth_bytes_per_s;
    channels_.push_back({request, Transfer({request.work, 0, stream}, now_s)});
    ready_.pop_front();
  }
}

double RequestFlash::takable_s(const Lane& lane) const {
  return std::max({stage_free_s_, lane.slot_s, lane.waiting.front().read->from_s});
}

// The lane from which the next request is taken, and when. Some lane is takable.
std::int32_t RequestFlash::next_lane(double& taken_s) const {
  std::int32_t best = kNone;
  const int turn = last_lane_ + 1;
  for (std::uint32_t left = std::rotr(takable_, turn); left != 0; left &= left - 1) {
    const std::int32_t i = (std::countr_zero(left) + turn) % 32;
    const double at_s = takable_s(lanes_[static_cast<std::size_t>(i)]);
    if (best == kNone || at_s < taken_s) {
      best = i;
      taken_s = at_s;
    }
  }
  LEANSTREAM_CHECK(best != kNone, "no lane to take from");
  return best;
}

void RequestFlash::take_until(double now_s) {
  while (takable_ != 0) {
    double taken_s = 0;
    const std::int32_t lane = next_lane(taken_s);
    if (taken_s > now_s + kSameS) return;
    take(lane, taken_s);
  }
}

void RequestFlash::take(std::int32_t i, double taken_s) {
  Lane& lane = lanes_[static_cast<std::size_t>(i)];
  Cursor& cursor = lane.waiting.front();
  Request request{cursor.read, cursor.request, bytes_of(*cursor.read, cursor.request), taken_s};
  const double factor = factor_of(request, lane);
  request.ready_s = taken_s + latency_s_ * factor;
  request.work = request.bytes * factor;
  make_ready(request);
  in_flight_bytes_ += request.bytes;
  ++lane.in_device;
  if (++cursor.request == static_cast<std::size_t>(cursor.read->load.requests)) {
    lane.waiting.pop_front();
  }
  mark(i);
  last_lane_ = i;
  stage_free_s_ = taken_s + stage_s_;
}

// Joins the lane's open group, where ends are told in groups.
double RequestFlash::factor_of(Request& request, Lane& lane) {
  if (device().batch == 1) return spread_.next();
  if (lane.open == nullptr) {
    if (free_groups_.empty()) {
      groups_.push_back(std::make_unique<Group>());
      free_groups_.push_back(groups_.back().get());
    }
    lane.open = free_groups_.back();
    free_groups_.pop_back();
    lane.open->taken = 0;
    lane.open->factor = spread_.next();
  }
  Group* const group = request.group = lane.open;
  if (++group->taken == device().batch) lane.open = nullptr;
  return group->factor;
}

// What was taken later is ready later, but for the factors.
void RequestFlash::make_ready(const Request& request) {
  const double ready_s = request.ready_s;
  ready_.push_back(request);
  for (std::size_t i = ready_.size() - 1; i > 0 && ready_[i - 1].ready_s > ready_s; --i) {
    std::swap(ready_[i - 1], ready_[i]);
  }
}

void RequestFlash::mark(std::int32_t i) {
  const Lane& lane = lanes_[static_cast<std::size_t>(i)];
  const std::uint32_t bit = std::uint32_t{1} << i;
  const bool takable = !lane.waiting.empty() && lane.in_device < device().queue_depth;
  takable_ = takable ? takable_ | bit : takable_ & ~bit;
}

void RequestFlash::finish(const Request& request, double now_s) {
  Group* const group = request.group;
  if (group == nullptr) return tell(request, now_s);
  Lane& lane = lanes_[static_cast<std::size_t>(request.read->command.lane)];
  group->done.push_back(request);
  if (std::ssize(group->done) < group->taken) return;
  if (lane.open == group) lane.open = nullptr;
  for (const Request& one : group->done) tell(one, now_s);
  group->done.clear();
  free_groups_.push_back(group);
}

void RequestFlash::tell(const Request& request, double now_s) {
  Read& read = *request.read;
  const std::int32_t i = read.command.lane;
  Lane& lane = lanes_[static_cast<std::size_t>(i)];
  in_flight_bytes_ -= request.bytes;
  if (lane.in_device-- == device().queue_depth) lane.slot_s = now_s;
  mark(i);
  const ReadFault what = fault(read, static_cast<std::int64_t>(request.number));
  read.failed |= what == ReadFault::error || what == ReadFault::short_read;
  read.request_ns[request.number] = run_time_ns(request.taken_s, now_s);
  ++read.ended;
  end_if_done(read);
}

void RequestFlash::end_if_done(Read& read) {
  LEANSTREAM_CHECK(read.ended <= read.load.requests, "read {} ended twice", read.command.ticket);
  if (read.ended < read.load.requests) return;
  --lanes_[static_cast<std::size_t>(read.command.lane)].reads;
  end(read);
}

}  // namespace leanstream::sim
