// The optional sections of a platform file: energy and heat.
#pragma once

#include "engine/config/parameters.h"
#include "engine/platform/platform.h"

namespace leanstream::platform {

const config::Table<Energy>& energy_table();
const config::Table<Thermal>& thermal_table();

}  // namespace leanstream::platform
