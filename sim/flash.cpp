#include "sim/flash.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "sim/request_flash.h"
#include "sim/segment_flash.h"

namespace leanstream::sim {

using backend::ReadFault;
using scheduler::Command;
using scheduler::Status;

namespace {

// As one lane sees it.
platform::Flash device_of(const backend::WorldSpec& spec) {
  platform::Flash device = spec.platform->flash;
  device.queue_depth = device.lane_depth(spec.io_lanes);
  return device;
}

}  // namespace

Flash::Flash(const backend::WorldSpec& spec)
    : device_(device_of(spec)),
      block_bytes_(spec.geometry.block_bytes),
      faults_(spec.faults, spec.seed),
      can_fail_(spec.faults.read_error > 0 || spec.faults.short_read > 0 || spec.faults.late > 0),
      merge_blocks_(can_fail_ ? 1
                              : static_cast<std::int32_t>(spec.platform->flash.merge_bytes /
                                                          spec.geometry.block_bytes)),
      time_(spec.faults),
      pauses_(spec.platform->flash, spec.seed),
      bandwidth_(peak(spec.platform->flash)) {
  LEANSTREAM_CHECK(device_.queue_depth >= 1, "a flash device without a queue");
  LEANSTREAM_CHECK(block_bytes_ > 0, "blocks without bytes");
}

void Flash::submit(const Command& command, double now_s) {
  LEANSTREAM_CHECK(command.lane >= 0 && command.lane < kLanes, "lane {} of {}", command.lane,
                   kLanes);
  LEANSTREAM_CHECK(!command.blocks.empty() && command.merge_blocks >= 1, "read {} is empty",
                   command.ticket);
  if (free_.empty()) {
    reads_.push_back(std::make_unique<Read>());
    free_.push_back(reads_.back().get());
  }
  Read& read = *free_.back();
  free_.pop_back();
  read.command = command;
  read.firsts.clear();
  scheduler::for_each_run(command.blocks, std::max(command.merge_blocks, merge_blocks_),
                          [&](std::size_t first, std::size_t) { read.firsts.push_back(first); });
  const Bytes overhead_bytes = device_.request_overhead_bytes * read.firsts.size();
  read.load = {static_cast<std::int64_t>(read.firsts.size()),
               static_cast<double>(block_bytes_ * command.blocks.size() + overhead_bytes)};
  read.firsts.push_back(command.blocks.size());
  for (std::size_t i = 0; i + 1 < read.firsts.size(); ++i) {
    read.load.bytes += pieces_bytes(command, read.firsts[i], read.firsts[i + 1] - read.firsts[i]);
  }
  read.cancelled = read.failed = false;
  read.status = Status::ok;
  read.not_read.clear();
  read.request_ns.clear();
  read.from_s = time_.to_device(now_s);
  enqueue(read, read.from_s);
}

double Flash::pieces_bytes(const Command& read, std::size_t first, std::size_t count) const {
  if (device_.piece_bytes == 0 && device_.merge_overhead_bytes == 0) return 0;
  Bytes pieces = 0;
  if (!read.slots.empty()) {
    for (std::size_t i = first + 1; i < first + count; ++i) {
      pieces += read.slots[i] != read.slots[i - 1] + 1;
    }
  }
  const Bytes merged = (count - 1) / static_cast<std::size_t>(read.merge_blocks);
  return static_cast<double>(pieces * device_.piece_bytes + merged * device_.merge_overhead_bytes);
}

void Flash::cancel(TicketId target, double now_s) {
  take_back(target, time_.to_device(now_s));
}

void Flash::set_health(bool stalled, double factor) {
  LEANSTREAM_CHECK(factor > 0, "{} of the bandwidth", factor);
  stalled_ = stalled;
  bandwidth_ = std::min(device_.bandwidth_bytes_per_s * factor, device_.link_bandwidth_bytes_per_s);
}

void Flash::end(Read& read) {
  if (read.failed || read.cancelled) {
    for (std::size_t i = 0; i + 1 < read.firsts.size(); ++i) {
      std::size_t first = read.firsts[i];
      if (static_cast<std::int64_t>(i) < read.load.requests) {
        const ReadFault what = fault(read, static_cast<std::int64_t>(i));
        if (what == ReadFault::none || what == ReadFault::late) continue;
        if (what == ReadFault::short_read) first = read.firsts[i + 1] - 1;
      }
      const auto blocks = read.command.blocks.subspan(first, read.firsts[i + 1] - first);
      read.not_read.insert(read.not_read.end(), blocks.begin(), blocks.end());
    }
    read.status = read.cancelled ? Status::cancelled : Status::error;
  }
  ended_.push_back(&read);
}

TimeNs Flash::run_time_ns(double from_s, double to_s) const {
  return std::llround((time_.from_device(to_s) - time_.from_device(from_s)) * kNsPerSecond);
}

std::unique_ptr<Flash> make_flash(const backend::WorldSpec& spec) {
  if (spec.fidelity == backend::Fidelity::request) return std::make_unique<RequestFlash>(spec);
  return std::make_unique<SegmentFlash>(spec);
}

}  // namespace leanstream::sim
