// A flash image in memory whose requests end in a seeded random order after random delays: every
// order that a device may choose, and none of its speed.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/hardware/storage/storage.h"

namespace leanstream::hardware {

class AnyOrderStorage final : public Storage {
 public:
  // Bytes arrive when their request ends, not before. The image outlives the storage. Requests
  // beyond `depth` wait; which of those that the device has ends next is drawn.
  AnyOrderStorage(std::span<const std::byte> image, std::uint64_t seed, TimeNs most_delay_ns,
                  std::size_t depth = 32)
      : image_(image),
        random_(seed, "tests.any_order_storage"),
        most_delay_ns_(most_delay_ns),
        depth_(depth) {}

  void submit(std::span<const StorageRequest> requests) override {
    waiting_.insert(waiting_.end(), requests.begin(), requests.end());
    take();
  }

  void cancel(std::uint64_t first_id, std::uint64_t last_id) override {
    std::erase_if(waiting_, [&](const StorageRequest& request) {
      const bool taken_back = request.id >= first_id && request.id <= last_id;
      if (taken_back) cancelled_.push_back({request.id, -ECANCELED, 0});
      return taken_back;
    });
  }

  void poll(std::vector<StorageResult>& out) override {
    out.insert(out.end(), cancelled_.begin(), cancelled_.end());
    cancelled_.clear();
    const auto now = Clock::now();
    std::ranges::sort(taken_, {}, &Taken::due);
    while (!taken_.empty() && taken_.front().due <= now) {
      const Taken first = taken_.front();
      taken_.erase(taken_.begin());
      out.push_back(
          {first.request.id, read(first.request), Nanoseconds(now - first.begun).count()});
    }
    take();
  }

  void wait(TimeNs at_most_ns) override {
    std::unique_lock lock(mutex_);
    const auto over = [&] { return woken_; };
    auto limit = Nanoseconds(std::min<TimeNs>(at_most_ns, kPatienceNs));
    if (!cancelled_.empty()) limit = Nanoseconds(0);
    for (const Taken& taken : taken_)
      limit = std::min<Nanoseconds>(limit, taken.due - Clock::now());
    wake_.wait_for(lock, limit, over);
    woken_ = false;
  }

  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    wake_.notify_one();
  }

  Bytes alignment_bytes() const override { return 1; }
  Bytes memory_bytes() const override { return 0; }
  std::string description() const override { return "memory, in any order"; }

 private:
  using Clock = std::chrono::steady_clock;
  using Nanoseconds = std::chrono::nanoseconds;
  static constexpr TimeNs kPatienceNs = 1'000'000'000;
  struct Taken {
    StorageRequest request;
    Clock::time_point begun, due;
  };

  void take() {
    std::size_t count = 0;
    while (count < waiting_.size() && taken_.size() < depth_) {
      const auto now = Clock::now();
      const auto delay = random_.next_below(static_cast<std::uint64_t>(most_delay_ns_) + 1);
      taken_.push_back({waiting_[count++], now, now + Nanoseconds(delay)});
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  // As pread does: short at the end of the image.
  std::int64_t read(const StorageRequest& request) const {
    Bytes at = request.offset_bytes;
    for (const iovec& piece : request.into) {
      const Bytes left = at < image_.size() ? image_.size() - at : 0;
      const Bytes part = std::min<Bytes>(piece.iov_len, left);
      if (part > 0) std::memcpy(piece.iov_base, image_.data() + at, part);
      at += part;
      if (part < piece.iov_len) break;
    }
    return static_cast<std::int64_t>(at - request.offset_bytes);
  }

  std::span<const std::byte> image_;
  RandomStream random_;
  TimeNs most_delay_ns_;
  std::size_t depth_;
  std::vector<StorageRequest> waiting_;
  std::vector<Taken> taken_;
  std::vector<StorageResult> cancelled_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

}  // namespace leanstream::hardware
