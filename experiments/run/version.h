// What this program was built from.
#pragma once

#include <string>

namespace leanstream::run {

struct Version {
  std::string version;
  std::string commit;  // "unknown" outside a git checkout
  bool dirty = false;  // tracked files differed from the commit
  std::string build;   // compiler and flags
};

const Version& version();

}  // namespace leanstream::run
