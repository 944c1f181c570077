// Platform files whose figures were fitted or measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/platform/platform_file.h"
#include "platforms/calibration/fit.h"

namespace leanstream::calibration {

// The text of a platform file; figures of one section follow each other.
std::string file_text(const std::string& description,
                      const std::vector<platform::Provenance>& figures,
                      const std::optional<platform::Calibration>& calibration = {});

// What the table told of the flash, as `fitted`, with `table` in the reference.
std::vector<platform::Provenance> flash_figures(const Fit& fit, const Summary& summary,
                                                const std::string& table);

// The text of a platform file: the flash of the table; the rest is `base`'s, `assumed` as it is of
// another device, with base's own source in the reference.
std::string platform_text(const Fit& fit, const Summary& summary, const std::string& table,
                          const platform::LoadedPlatform& base);

}  // namespace leanstream::calibration
