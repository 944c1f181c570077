#include "sim/station.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace leanstream::sim {

void Station::submit(const scheduler::Command& command, const Flow& flow, double now_s) {
  LEANSTREAM_CHECK(flow.delay_s >= 0 && flow.bytes >= 0 && std::isfinite(flow.alone_s()),
                   "flow of command {}: {} bytes at {} after {} s", command.ticket, flow.bytes,
                   flow.bytes_per_s, flow.delay_s);
  queue_.push_back({command, flow});
  if (busy_) return;
  start(now_s, flow.instant() ? 0 : start_s_);
}

void Station::die() {
  dead_ = true;
  busy_ = false;
}

// Commands that take no time end here, at the moment they reach the front.
void Station::start(double now_s, double delay_s) {
  while (!dead_ && !queue_.empty()) {
    const Queued& next = queue_.front();
    if (!next.flow.instant()) {
      busy_ = true;
      work_from_s_ = now_s + delay_s + next.flow.delay_s;
      transfer_ =
          Transfer({next.flow.bytes, delay_s + next.flow.delay_s, next.flow.bytes_per_s}, now_s);
      return;
    }
    ended_->push_back({next.command, 0});
    queue_.pop_front();
  }
}

double Station::demand() const {
  return busy_ && transfer_.moving() ? transfer_.bound() : 0.0;
}

void Station::set_share(double bytes_per_s, double now_s) {
  if (busy_) transfer_.set_rate(bytes_per_s, now_s);
}

void Station::advance(double now_s) {
  LEANSTREAM_CHECK(busy_, "an idle station has no events");
  if (!transfer_.step()) return;
  const double work_s = std::max(0.0, now_s - work_from_s_);
  ended_->push_back({queue_.front().command, std::llround(work_s * kNsPerSecond)});
  queue_.pop_front();
  busy_ = false;
  start(now_s, 0);
}

}  // namespace leanstream::sim
