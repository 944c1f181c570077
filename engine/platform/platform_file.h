// Platform files: every parameter is a map {value, source, reference}, so that no figure of a
// device goes without saying where it comes from.
#pragma once

#include <string>
#include <vector>

#include "engine/config/document.h"
#include "engine/config/parameters.h"
#include "engine/platform/platform.h"

namespace leanstream::platform {

// How a figure is known; platforms/README.md says what each means.
enum class Source { measured, datasheet, paper, fitted, assumed };

std::string word(Source source);

struct Provenance {
  std::string name;   // "flash.latency"
  std::string value;  // as a user would write it
  Source source = Source::assumed;
  std::string reference;
};

struct LoadedPlatform {
  Platform platform;
  std::vector<Provenance> provenance;  // of what is stated, in the order of the table
  std::string path;
  std::string hash;

  // Names of the parameters whose source is `assumed`.
  std::vector<std::string> assumed() const;
};

// The one section whose values are plain: it is the provenance of others.
inline constexpr const char* kCalibration = "calibration";

// The parameters without their provenance.
const config::Table<Platform>& table();
// The values of a file's section `flash`, as a user would write them, by name.
config::Json flash_section(const Flash& flash);

// Reads a parsed platform file. `changes` is a map like the file's with plain values
// ({flash: {latency: 60 us}}): an experiment's; each counts as assumed, and its reference says
// where it was written. Never throws; with errors the result is incomplete.
LoadedPlatform read_platform(const config::Document& document, const config::Node& changes,
                             config::Diagnostics& diagnostics);

// Finds ("jetson-agx-orin" or a path), loads and reads. Throws UserError with all errors.
LoadedPlatform load_platform(const std::string& name_or_path, const config::Node& changes = {});

}  // namespace leanstream::platform
