// Runs with everything drawn, and what must hold of them whatever was drawn.
#pragma once

#include <string>

#include "tests/scheduler/choices.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {

// A small model under any rules, any registered policies and any budget, too small ones included.
SmallRun draw_run(Choices& choices);

std::string describe(const SmallRun& run);

// Runs it in a world that completes commands in any legal order (any_order_world.h) and checks that
// it ended as it must. False when the run was refused; when that was for its budget, it was then
// tried with the one that the message names. Fills the run.
bool run_in_any_order(SmallRun& run, Choices& choices);

}  // namespace leanstream::scheduler
