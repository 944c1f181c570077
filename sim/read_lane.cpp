#include "sim/read_lane.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::sim {

void ReadLane::push(const scheduler::Command& read, const ReadLoad& load, double now_s) {
  LEANSTREAM_CHECK(load.requests >= 1 && load.bytes > 0, "read {} is empty", read.ticket);
  queue_.push_back({read, load, queue_.empty(), 0});
  admit(now_s);
}

Flow ReadLane::front_flow(double now_s) const {
  LEANSTREAM_CHECK(!queue_.empty() && entered_ > 0, "no read to start");
  const Queued& read = queue_.front();
  const double latency_left_s = std::max(0.0, read.entered_s + seconds(flash_->latency_ns) - now_s);
  const double overhead_s = read.found_idle ? seconds(flash_->io_segment_overhead_ns) : 0.0;
  const double transfer = read.found_idle ? transfer_s(*flash_, read.load)
                                          : continued_s(*flash_, read.load, requests_entered_);
  return {read.load.bytes, latency_left_s + overhead_s,
          static_cast<double>(read.load.bytes) / transfer};
}

void ReadLane::pop(double now_s) {
  LEANSTREAM_CHECK(!queue_.empty() && entered_ > 0, "no read in service");
  requests_entered_ -= queue_.front().load.requests;
  --entered_;
  queue_.pop_front();
  admit(now_s);
}

void ReadLane::admit(double now_s) {
  while (entered_ < queue_.size()) {
    const std::int64_t in_service = queue_.front().load.requests;
    if (entered_ > 0 && requests_entered_ - in_service >= flash_->queue_depth) break;
    queue_[entered_].entered_s = now_s;
    requests_entered_ += queue_[entered_].load.requests;
    ++entered_;
  }
}

}  // namespace leanstream::sim
