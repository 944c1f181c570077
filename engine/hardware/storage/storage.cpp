#include "engine/hardware/storage/storage.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "engine/hardware/storage/engines.h"

namespace leanstream::hardware {
namespace {

void check(const StorageSpec& spec) {
  const auto engines = storage_engines();
  if (spec.engine != "auto" && std::ranges::find(engines, spec.engine) == engines.end()) {
    throw UserError("there is no storage engine '{}'; there are: auto, {}{}", spec.engine,
                    fmt::join(engines, ", "), suggestion(spec.engine, engines));
  }
  if (spec.lanes < 1 || spec.depth < 1 || spec.depth > kMostAtOnce / spec.lanes) {
    throw UserError("{} lanes with {} reads at once each: both at least 1, together at most {}",
                    spec.lanes, spec.depth, kMostAtOnce);
  }
}

// Makes one, or throws UserError with the reason alone.
std::unique_ptr<LaneStorage> make(const std::string& engine, const StorageSpec& spec) {
  ImageFile file(spec.path);
  if (engine == "io_uring") {
    const IoUringProbe probe = probe_io_uring(file);
    if (!probe.why_not.empty()) throw UserError("{}", probe.why_not);
    return make_io_uring(spec, std::move(file), probe);
  }
  if (engine == "libaio") {
    const std::string why_not = probe_libaio(file);
    if (!why_not.empty()) throw UserError("{}", why_not);
    return make_libaio(spec, std::move(file));
  }
  return make_pread(spec, std::move(file));
}

}  // namespace

std::vector<std::string> storage_engines() {
  return {"io_uring", "libaio", "pread"};
}

std::unique_ptr<Storage> open_storage(const StorageSpec& spec) {
  check(spec);
  const ImageFile file(spec.path);  // what is wrong with the file is no engine's fault
  const std::string place = fmt::format("{} bytes a logical block ({}), {}", file.alignment_bytes(),
                                        file.alignment_source(), kernel_text());
  if (spec.engine != "auto") {
    try {
      auto storage = make(spec.engine, spec);
      storage->add_to_description(place);
      return storage;
    } catch (const UserError& error) {
      throw UserError("storage engine '{}' cannot be used: {}; 'auto' takes what works",
                      spec.engine, error.what());
    }
  }
  std::string refused;
  for (const std::string& engine : storage_engines()) {
    try {
      auto storage = make(engine, spec);
      storage->add_to_description(place + refused);
      return storage;
    } catch (const UserError& error) {
      refused += fmt::format("; not {}: {}", engine, error.what());
    }
  }
  throw UserError("{} can be read by no storage engine{}", spec.path, refused);
}

}  // namespace leanstream::hardware
