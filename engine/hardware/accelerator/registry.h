// Which accelerators this build has. Each registers itself; the choice is made by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/hardware/accelerator/accelerator.h"

namespace leanstream::hardware {

using MakeAccelerator = std::unique_ptr<Accelerator> (*)(const AcceleratorSpec& spec);

// Called at program start by each accelerator. A duplicate name is a bug.
bool register_accelerator(const std::string& name, const std::string& help, MakeAccelerator make);

struct AcceleratorInfo {
  std::string name;
  std::string help;
};
std::vector<AcceleratorInfo> accelerators();

// Throws UserError with the accelerators of this build when `name` is not one of them.
void check_accelerator(const std::string& name);

// Checks and makes it.
std::unique_ptr<Accelerator> make_accelerator(const std::string& name, const AcceleratorSpec& spec);

}  // namespace leanstream::hardware
