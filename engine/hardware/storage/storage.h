// Reads of a flash image by one of the system's interfaces: what io_uring, libaio and a pool of
// pread threads have in common. Called by the thread that opened it only, but for wake().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "engine/base/types.h"

namespace leanstream::hardware {

// One request to the device: consecutive bytes of the image into pieces of memory. Offset, sizes
// and addresses are multiples of the device's logical block size.
struct StorageRequest {
  std::uint64_t id = 0;   // no two requests under way have the same
  std::int32_t lane = 0;  // 0 … lanes − 1: a queue of its own
  std::uint64_t offset_bytes = 0;
  std::span<const iovec> into{};  // stays, as its memory does, until the result
};

struct StorageResult {
  std::uint64_t id = 0;
  std::int64_t result = 0;  // bytes read, or −errno (−ECANCELED: taken back)
  TimeNs latency_ns = 0;    // from when the system took it to when its end was seen
};

struct StorageSpec {
  std::string path{};           // image file or block device, opened read-only with O_DIRECT
  std::string engine = "auto";  // or one of storage_engines()
  std::int32_t lanes = 1;
  std::int32_t depth = 32;       // requests that the device has at once, for each lane
  std::span<std::byte> arena{};  // where most reads go: registered where that is possible
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Takes requests over in order; they reach the system with the next wait, of however little time,
  // so that handing over and sleeping are one call. Never blocks: what exceeds the depth of a lane
  // waits here.
  virtual void submit(std::span<const StorageRequest> requests) = 0;

  // Takes back the requests first_id … last_id that the device has not got: their result is
  // −ECANCELED. Others end as usual.
  virtual void cancel(std::uint64_t first_id, std::uint64_t last_id) = 0;

  // Appends what has ended since the last call, as far as the last wait has seen it: who polls
  // again and again waits in between, if for no time. Never blocks.
  virtual void poll(std::vector<StorageResult>& out) = 0;

  // Hands over what was submitted, and what poll() made room for; then sleeps until there is
  // something to poll, wake() was called since the last return, or the time is over (0: does not
  // sleep, kNever: no limit). May end sooner; never later because of a race.
  virtual void wait(TimeNs at_most_ns) = 0;

  // Ends a wait, the present or the next. From any thread.
  virtual void wake() = 0;

  // Offset, sizes and addresses of requests are multiples of this.
  virtual Bytes alignment_bytes() const = 0;

  // Of its own: queues, lists, and what the system keeps of them in this process.
  virtual Bytes memory_bytes() const = 0;

  // The interface, what of it is used, and why others are not: "io_uring: O_DIRECT, registered
  // arena, …".
  virtual std::string description() const = 0;
};

// Most requests that the device may have at once: lanes · depth.
inline constexpr std::int32_t kMostAtOnce = 16384;

// io_uring, libaio, pread: in the order in which `auto` tries them.
std::vector<std::string> storage_engines();

// Throws UserError: what cannot be opened or used, why, and what to do.
std::unique_ptr<Storage> open_storage(const StorageSpec& spec);

}  // namespace leanstream::hardware
