// The three interfaces. Each takes a checked spec and a file that its probe could read, and throws
// UserError with the reason alone.
#pragma once

#include <memory>

#include "engine/hardware/storage/lane_storage.h"
#include "engine/hardware/storage/probe.h"

namespace leanstream::hardware {

// In builds without liburing the probe says no, and this must not be called.
std::unique_ptr<LaneStorage> make_io_uring(const StorageSpec& spec, ImageFile file,
                                           const IoUringProbe& probe);
std::unique_ptr<LaneStorage> make_libaio(const StorageSpec& spec, ImageFile file);
std::unique_ptr<LaneStorage> make_pread(const StorageSpec& spec, ImageFile file);

}  // namespace leanstream::hardware
