#include "engine/backend/run_loop.h"

#include "engine/base/check.h"

namespace leanstream::backend {

void run(scheduler::Scheduler& scheduler, Backend& backend) {
  set_failure_report([&scheduler] { return scheduler.event_tail(); });
  backend.host([&] {
    scheduler.start(backend.now());
    while (!scheduler.finished()) {
      backend.submit(scheduler.take_commands());
      scheduler.on(backend.wait(scheduler.deadline()));
    }
  });
  scheduler.check_conservation();
  set_failure_report(nullptr);
}

}  // namespace leanstream::backend
