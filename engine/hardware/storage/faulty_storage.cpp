#include "engine/hardware/storage/faulty_storage.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "engine/base/check.h"
#include "engine/hardware/storage/flash_reader.h"

namespace leanstream::hardware {
namespace {

using backend::FaultPlan;
using backend::ReadFault;

class FaultyStorage final : public Storage {
 public:
  FaultyStorage(std::unique_ptr<Storage> inner, const FaultySpec& spec)
      : inner_(std::move(inner)), spec_(spec), injector_(spec.plan, spec.seed) {
    LEANSTREAM_CHECK(spec.block_bytes > 0 && spec.now, "a fault plan without blocks or a clock");
    LEANSTREAM_CHECK(spec.plan.collapse_from_ns == kNever || spec.bandwidth_bytes_per_s > 0,
                     "a collapse of an unknown bandwidth");
  }

  void submit(std::span<const StorageRequest> requests) override { inner_->submit(requests); }
  void cancel(std::uint64_t first_id, std::uint64_t last_id) override {
    inner_->cancel(first_id, last_id);
  }

  void poll(std::vector<StorageResult>& out) override {
    arrived_.clear();
    inner_->poll(arrived_);
    const TimeNs now_ns = spec_.now();
    for (StorageResult& result : arrived_) hold(result, now_ns);
    while (!held_.empty() && held_.front().due_ns <= now_ns) {
      std::ranges::pop_heap(held_, later);
      out.push_back(held_.back().result);
      held_.pop_back();
    }
  }

  void wait(TimeNs at_most_ns) override {
    if (!held_.empty()) {
      at_most_ns = std::clamp<TimeNs>(held_.front().due_ns - spec_.now(), 0, at_most_ns);
    }
    inner_->wait(at_most_ns);
  }

  void wake() override { inner_->wake(); }
  Bytes alignment_bytes() const override { return inner_->alignment_bytes(); }
  Bytes memory_bytes() const override {
    return inner_->memory_bytes() + held_.capacity() * sizeof(Held) +
           arrived_.capacity() * sizeof(StorageResult);
  }
  std::string description() const override {
    return inner_->description() + "; with the faults of the run's plan";
  }

 private:
  struct Held {
    TimeNs due_ns;
    std::uint64_t order;  // of equal dates the first to arrive
    StorageResult result;
  };
  static bool later(const Held& a, const Held& b) {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.order > b.order;
  }

  void hold(StorageResult& result, TimeNs now_ns) {
    TimeNs due_ns = now_ns;
    if (result.result != -ECANCELED) {
      due_ns = after_collapse(std::max<std::int64_t>(result.result, 0), due_ns);
      switch (
          injector_.read(ticket_of(result.id), static_cast<std::int64_t>(request_of(result.id)))) {
        case ReadFault::none:
          break;
        case ReadFault::error:
          result.result = -EIO;
          break;
        case ReadFault::short_read:
          // Asked for the rest, it is short again: the last block never comes.
          if (result.result >= 0) {
            result.result = std::max<std::int64_t>(
                result.result - static_cast<std::int64_t>(spec_.block_bytes), 0);
          }
          break;
        case ReadFault::late:
          due_ns += spec_.plan.late_by_ns;
          break;
      }
      due_ns = after_stall(due_ns);
      result.latency_ns += due_ns - now_ns;
    }
    held_.push_back({due_ns, order_++, result});
    std::ranges::push_heap(held_, later);
  }

  TimeNs after_stall(TimeNs at_ns) const {
    const FaultPlan& plan = spec_.plan;
    const bool stalled = plan.stall_from_ns != kNever && at_ns >= plan.stall_from_ns &&
                         at_ns - plan.stall_from_ns < plan.stall_for_ns;
    return stalled ? plan.stall_from_ns + plan.stall_for_ns : at_ns;
  }

  // A bucket that fills at the bandwidth that is left.
  TimeNs after_collapse(std::int64_t bytes, TimeNs at_ns) {
    const FaultPlan& plan = spec_.plan;
    if (plan.collapse_from_ns == kNever || at_ns < plan.collapse_from_ns ||
        at_ns >= plan.collapse_to_ns) {
      return at_ns;
    }
    const double rate = spec_.bandwidth_bytes_per_s * plan.collapse_factor;
    link_free_ns_ = std::max(link_free_ns_, at_ns) +
                    std::llround(static_cast<double>(bytes) / rate * kNsPerSecond);
    return link_free_ns_;
  }

  std::unique_ptr<Storage> inner_;
  FaultySpec spec_;
  backend::FaultInjector injector_;
  TimeNs link_free_ns_ = 0;
  std::uint64_t order_ = 0;
  std::vector<Held> held_;  // a heap: the earliest in front
  std::vector<StorageResult> arrived_;
};

}  // namespace

std::unique_ptr<Storage> with_faults(std::unique_ptr<Storage> inner, const FaultySpec& spec) {
  return std::make_unique<FaultyStorage>(std::move(inner), spec);
}

}  // namespace leanstream::hardware
