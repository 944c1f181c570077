// `hardware:` of an experiment: the devices of a run with --backend=hardware.
#pragma once

#include "engine/backend/world.h"
#include "engine/config/parameters.h"

namespace leanstream::run {

const config::Table<backend::HardwareSpec>& hardware_table();

}  // namespace leanstream::run
