#include "engine/backend/world.h"

#include <map>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/nearest.h"

namespace leanstream::backend {
namespace {

struct Entry {
  std::string help;
  MakeWorld make;
  NeedsLog needs_log;
  CheckRun check_run;
  FollowsPlatform follows;
};

std::map<std::string, Entry>& registry() {
  static std::map<std::string, Entry> entries;
  return entries;
}

}  // namespace

bool register_world(const std::string& name, const std::string& help, MakeWorld make,
                    NeedsLog needs_log, CheckRun check_run, FollowsPlatform follows) {
  const Entry entry{help, make, needs_log, check_run, follows};
  const bool added = registry().emplace(name, entry).second;
  LEANSTREAM_CHECK(added, "two worlds are named '{}'", name);
  return added;
}

void check_world(const std::string& name, const std::string& log) {
  if (const auto found = registry().find(name); found != registry().end()) {
    const bool needs_log = found->second.needs_log == NeedsLog::yes;
    if (needs_log && log.empty()) {
      throw UserError("backend '{}' plays a completion log; name it (--log FILE)", name);
    }
    if (!needs_log && !log.empty()) {
      throw UserError("backend '{}' plays no log, but {} was given (--log)", name, log);
    }
    return;
  }
  std::vector<std::string> names;
  for (const auto& [known, entry] : registry()) names.push_back(known);
  throw UserError("this build has no backend '{}'; it has: {}{}{}", name,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                  suggestion(name, names),
                  name == "sim" ? " (the simulated world needs SimGrid: install libsimgrid-dev and "
                                  "configure again)"
                                : "");
}

CheckRun run_check(const std::string& name) {
  return registry().at(name).check_run;
}

bool follows_platform(const std::string& name) {
  return registry().at(name).follows == FollowsPlatform::yes;
}

std::unique_ptr<Backend> make_world(const std::string& name, const WorldSpec& spec) {
  check_world(name, spec.log);
  return registry().at(name).make(spec);
}

std::vector<WorldInfo> worlds() {
  std::vector<WorldInfo> out;
  for (const auto& [name, entry] : registry()) out.push_back({name, entry.help});
  return out;
}

}  // namespace leanstream::backend
