// A flash device, and if wanted an accelerator that takes all it gets, on a bus without SimGrid.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "sim/flash.h"
#include "sim/station.h"
#include "tests/sim/device.h"
#include "tests/sim/timeline.h"

namespace leanstream::sim {

using backend::Fidelity;
inline constexpr Fidelity kFidelities[] = {Fidelity::segment, Fidelity::request};

// A Jetson AGX Orin's flash (platforms/jetson-agx-orin.yaml): bound by the host's requests.
inline platform::Flash orin_flash() {
  return {.bandwidth_bytes_per_s = 7e9,
          .stream_bandwidth_bytes_per_s = 3.5e9,
          .requests_per_s = 47e3,
          .latency_ns = 45'000,
          .queue_depth = 32,
          .logical_block_bytes = 512,
          .link_bandwidth_bytes_per_s = 7.87e9,
          .io_segment_overhead_ns = 10'000};
}

class FlashRun {
 public:
  struct Answer {
    scheduler::Status status;
    double end_s;
    std::vector<BlockId> not_read;
    std::vector<TimeNs> request_ns;
  };

  FlashRun(Device device, Fidelity fidelity, double bus = 186e9, double accelerator = 0)
      : device_(std::move(device)) {
    device_.spec.platform = &device_.platform;
    device_.spec.fidelity = fidelity;
    flash_ = make_flash(device_.spec);
    timeline_ = std::make_unique<Timeline>(bus, std::vector<BusUser*>{flash_.get(), &accelerator_});
    if (accelerator > 0) {
      accelerator_.submit(commands.make(scheduler::CommandKind::attention),
                          {accelerator * 1000, 0, accelerator}, 0);
    }
  }

  TicketId submit(const scheduler::Command& read) {
    flash_->submit(read, timeline_->now_s());
    note();
    return read.ticket;
  }
  void cancel(TicketId target) {
    flash_->cancel(target, timeline_->now_s());
    note();
  }
  void run_until(double until_s) {
    while (timeline_->step(until_s)) note();
  }
  // One event, if there is one.
  void step() {
    timeline_->step();
    note();
  }
  // Until so many reads have ended; then the date.
  double run(std::size_t reads) {
    while (answers.size() < reads && timeline_->step()) note();
    EXPECT_EQ(answers.size(), reads);
    return timeline_->now_s();
  }
  Flash& flash() { return *flash_; }
  double now_s() const { return timeline_->now_s(); }
  std::int64_t events() const { return timeline_->events(); }

  Commands commands;
  std::map<TicketId, Answer> answers;

 private:
  void note() {
    for (Read* read : flash_->ended()) {
      const Answer answer{read->status, timeline_->now_s(), read->not_read, read->request_ns};
      EXPECT_TRUE(answers.emplace(read->command.ticket, answer).second) << "ended twice";
      flash_->give_back(read);
    }
    flash_->clear_ended();
  }

  Device device_;
  std::vector<Station::Ended> ended_;
  Station accelerator_{ended_};
  std::unique_ptr<Flash> flash_;
  std::unique_ptr<Timeline> timeline_;
};

inline Device device_with(const platform::Flash& flash, Bytes block_bytes) {
  Device device;
  device.platform.flash = flash;
  device.set_blocks(block_bytes);
  return device;
}

}  // namespace leanstream::sim
