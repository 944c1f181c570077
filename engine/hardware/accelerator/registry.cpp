#include "engine/hardware/accelerator/registry.h"

#include <map>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/nearest.h"

namespace leanstream::hardware {
namespace {

struct Entry {
  std::string help;
  MakeAccelerator make;
};

std::map<std::string, Entry>& registry() {
  static std::map<std::string, Entry> entries;
  return entries;
}

}  // namespace

bool register_accelerator(const std::string& name, const std::string& help, MakeAccelerator make) {
  const bool added = registry().emplace(name, Entry{help, make}).second;
  LEANSTREAM_CHECK(added, "two accelerators are named '{}'", name);
  return added;
}

std::vector<AcceleratorInfo> accelerators() {
  std::vector<AcceleratorInfo> out;
  for (const auto& [name, entry] : registry()) out.push_back({name, entry.help});
  return out;
}

void check_accelerator(const std::string& name) {
  if (registry().contains(name)) return;
  std::vector<std::string> names;
  for (const auto& [known, entry] : registry()) names.push_back(known);
  throw UserError("this build has no accelerator '{}'; it has: {}{}", name, fmt::join(names, ", "),
                  suggestion(name, names));
}

std::unique_ptr<Accelerator> make_accelerator(const std::string& name,
                                              const AcceleratorSpec& spec) {
  check_accelerator(name);
  return registry().at(name).make(spec);
}

}  // namespace leanstream::hardware
