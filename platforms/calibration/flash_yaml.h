// A platform file whose flash section was fitted.
#pragma once

#include <string>

#include "engine/platform/platform_file.h"
#include "platforms/calibration/fit.h"

namespace leanstream::calibration {

// The text of a platform file: what the table told is `fitted`, with `table` in the reference; the
// rest is `base`'s, `assumed` as it is of another device, with base's own source in the reference.
std::string platform_text(const Fit& fit, const Summary& summary, const std::string& table,
                          const platform::LoadedPlatform& base);

}  // namespace leanstream::calibration
