// What the three interfaces share: lanes with a depth each, in front of a device that has at most
// their sum at once.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ring.h"
#include "engine/hardware/storage/image_file.h"
#include "engine/hardware/storage/storage.h"
#include "engine/hardware/storage/wake_flag.h"

namespace leanstream::hardware {

inline TimeNs steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class LaneStorage : public Storage {
 public:
  void submit(std::span<const StorageRequest> requests) final;
  void cancel(std::uint64_t first_id, std::uint64_t last_id) final;
  void poll(std::vector<StorageResult>& out) final;
  void wait(TimeNs at_most_ns) final;
  void wake() final;
  Bytes alignment_bytes() const final { return file_.alignment_bytes(); }
  Bytes memory_bytes() const final;
  std::string description() const final { return own_description() + "; " + more_; }
  void add_to_description(std::string more) { more_ = std::move(more); }

 protected:
  LaneStorage(const StorageSpec& spec, ImageFile file);

  // A request that the device has; `place` is its index, 0 … capacity() − 1.
  struct Taken {
    StorageRequest request;
    TimeNs begun_ns = 0;
  };
  const Taken& taken(std::uint32_t place) const { return taken_[place]; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(taken_.size()); }
  int fd() const { return file_.fd(); }

  virtual std::string own_description() const = 0;
  virtual Bytes own_memory_bytes() const = 0;
  // Prepares the read of a place; the device has room for it.
  virtual void start(std::uint32_t place) = 0;
  // Hands over what was started; may be called without need. Never blocks.
  virtual void flush() = 0;
  // Calls ended() for each read that has ended. Never blocks.
  virtual void reap() = 0;
  // Flushes, then sleeps until something can be reaped, ring() is called or the time is over; may
  // end sooner.
  virtual void sleep(TimeNs at_most_ns) = 0;
  // Ends a sleep, the present or the one about to begin. From any thread.
  virtual void ring() = 0;

  // `result` as in StorageResult. Called from reap() or flush() only.
  void ended(std::uint32_t place, std::int64_t result);
  // For destructors: reads under way go into memory that may be given back next.
  void drain();

 private:
  struct Lane {
    Ring<StorageRequest> waiting;
    std::int32_t in_device = 0;
  };

  bool fits(const StorageRequest& request) const;
  void dispatch(TimeNs now_ns);

  ImageFile file_;
  std::int32_t depth_;
  std::vector<Lane> lanes_;
  std::vector<Taken> taken_;
  std::vector<std::uint32_t> free_places_;
  std::vector<StorageResult> results_;
  WakeFlag wake_;
  std::string more_;
};

}  // namespace leanstream::hardware
