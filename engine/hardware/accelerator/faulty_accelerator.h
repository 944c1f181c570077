// An accelerator that dies as planned.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/backend/faults.h"
#include "engine/hardware/accelerator/accelerator.h"

namespace leanstream::hardware {

class FaultyAccelerator final : public Accelerator {
 public:
  // `now`: since the start of the run, as the plan's dates.
  FaultyAccelerator(std::unique_ptr<Accelerator> real, const backend::FaultPlan& plan,
                    std::function<TimeNs()> now)
      : real_(std::move(real)), dies_ns_(plan.accelerator_dies_ns), now_(std::move(now)) {}

  void submit(const scheduler::Command& command) override {
    if (!dead()) real_->submit(command);
  }
  void poll(std::vector<Ended>& out) override {
    if (!dead()) real_->poll(out);
  }
  std::span<const float> nll() const override { return real_->nll(); }
  std::vector<std::pair<std::string, Bytes>> memory() const override { return real_->memory(); }

 private:
  bool dead() const { return now_() >= dies_ns_; }

  std::unique_ptr<Accelerator> real_;
  TimeNs dies_ns_;
  std::function<TimeNs()> now_;
};

}  // namespace leanstream::hardware
