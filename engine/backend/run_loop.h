// The whole program is this loop, the same in every world.
#pragma once

#include "engine/backend/backend.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::backend {

// Runs to the end (or to scheduler.failure()), then checks conservation. A failed check prints the
// scheduler's last events.
void run(scheduler::Scheduler& scheduler, Backend& backend);

}  // namespace leanstream::backend
