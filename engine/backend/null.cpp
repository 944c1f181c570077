// The null device: everything completes at once. What a run costs here is the cost of the core.
#include "engine/backend/scores.h"
#include "engine/backend/world.h"
#include "engine/base/check.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

// Each wait answers all that is outstanding, in order of tickets, one nanosecond after the last.
class NullBackend final : public Backend {
 public:
  explicit NullBackend(const WorldSpec& spec) : scores_(spec) {}

  TimeNs now() override { return now_ns_; }

  void submit(std::span<const Command> commands) override {
    outstanding_.insert(outstanding_.end(), commands.begin(), commands.end());
  }

  std::span<const Completion> wait(TimeNs deadline) override {
    batch_.clear();
    scores_.reset();
    if (outstanding_.empty()) {
      LEANSTREAM_CHECK(deadline != kNever, "nothing is under way and there is no deadline");
      now_ns_ = deadline;
      batch_.push_back({.time_ns = now_ns_, .status = Status::timed_out});
      return batch_;
    }
    ++now_ns_;
    for (const Command& command : outstanding_) {
      batch_.push_back({.ticket = command.ticket, .time_ns = now_ns_});
      if (command.kind == CommandKind::predict) batch_.back().scores = scores_.of(command);
    }
    outstanding_.clear();
    return batch_;
  }

 private:
  Scores scores_;
  TimeNs now_ns_ = 0;
  std::vector<Command> outstanding_;  // in order of tickets
  std::vector<Completion> batch_;
};

[[maybe_unused]] const bool kNullRegistered =
    register_world("null", "everything completes at once: the cost of the core alone",
                   [](const WorldSpec& spec) -> std::unique_ptr<Backend> {
                     return std::make_unique<NullBackend>(spec);
                   });

}  // namespace
}  // namespace leanstream::backend
