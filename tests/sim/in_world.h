// A world of its own for each case, in both fidelities.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "tests/sim/child.h"
#include "tests/sim/device.h"

namespace leanstream::sim {

using Body = std::function<void(World&, Commands&)>;

// In both fidelities: what is said of commands here holds for either.
inline void in_world(Device& device, const Body& body) {
  for (const auto fidelity : {backend::Fidelity::segment, backend::Fidelity::request}) {
    SCOPED_TRACE(fidelity == backend::Fidelity::segment ? "segment" : "request");
    device.spec.fidelity = fidelity;
    in_child([&] {
      Commands commands;
      World world(device.spec);
      body(world, commands);
    });
  }
}

inline void submit(World& world, std::initializer_list<scheduler::Command> commands) {
  world.submit(std::vector<scheduler::Command>(commands));
}

}  // namespace leanstream::sim
