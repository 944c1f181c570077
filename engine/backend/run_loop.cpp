#include "engine/backend/run_loop.h"

#include "engine/base/check.h"

namespace leanstream::backend {

namespace {

// What a failed check of ours prints and saves, as long as a run goes on.
class FailureReport {
 public:
  FailureReport(const scheduler::Scheduler& scheduler, Backend& backend) {
    set_failure_report([&scheduler, &backend] {
      backend.broken();
      return scheduler.event_tail();
    });
  }
  ~FailureReport() { set_failure_report(nullptr); }
  FailureReport(const FailureReport&) = delete;
  FailureReport& operator=(const FailureReport&) = delete;
};

}  // namespace

void run(scheduler::Scheduler& scheduler, Backend& backend) {
  const FailureReport report(scheduler, backend);
  scheduler.start(backend.now());
  while (!scheduler.finished()) {
    backend.submit(scheduler.take_commands());
    scheduler.on(backend.wait(scheduler.deadline()));
  }
  backend.ended();
  scheduler.check_conservation();
}

}  // namespace leanstream::backend
