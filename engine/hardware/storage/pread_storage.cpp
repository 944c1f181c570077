#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <sys/uio.h>

#include "engine/hardware/storage/engines.h"

namespace leanstream::hardware {
namespace {

constexpr std::uint32_t kMostThreads = 64;
constexpr Bytes kStackBytes = 16384;  // that a thread touches

// One read a thread. Both sides hold the lock only to hand over places.
class PreadStorage final : public LaneStorage {
 public:
  PreadStorage(const StorageSpec& spec, ImageFile file) : LaneStorage(spec, std::move(file)) {
    const std::uint32_t count = std::min(capacity(), kMostThreads);
    for (std::uint32_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }

  ~PreadStorage() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_there_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::string own_description() const override {
    return fmt::format("pread: O_DIRECT, {} threads", threads_.size());
  }
  Bytes own_memory_bytes() const override { return threads_.size() * kStackBytes; }

 private:
  struct Done {
    std::uint32_t place;
    std::int64_t result;
  };
  // Arguments of one read, copied so that threads look at nothing of the owner's.
  struct Job {
    std::uint32_t place = 0;
    std::span<const iovec> into;
    std::uint64_t offset_bytes = 0;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_there_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      const Job job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      const ssize_t got = ::preadv(fd(), job.into.data(), static_cast<int>(job.into.size()),
                                   static_cast<off_t>(job.offset_bytes));
      const std::int64_t result = got < 0 ? -errno : got;
      lock.lock();
      done_.push_back({job.place, result});
      if (done_.size() == 1) something_.notify_one();
    }
  }

  void start(std::uint32_t place) override {
    const StorageRequest& request = taken(place).request;
    started_.push_back({place, request.into, request.offset_bytes});
  }

  void flush() override {
    if (started_.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      for (const Job& job : started_) jobs_.push_back(job);
    }
    for (std::size_t i = 0; i < started_.size(); ++i) work_there_.notify_one();
    started_.clear();
  }

  void reap() override {
    {
      const std::lock_guard lock(mutex_);
      done_.swap(reaped_);
    }
    for (const Done& done : reaped_) ended(done.place, done.result);
    reaped_.clear();
  }

  void sleep(TimeNs at_most_ns) override {
    flush();
    std::unique_lock lock(mutex_);
    const auto over = [&] { return rung_ || !done_.empty(); };
    if (at_most_ns == kNever) {
      something_.wait(lock, over);
    } else {
      something_.wait_for(lock, std::chrono::nanoseconds(at_most_ns), over);
    }
    rung_ = false;
  }

  void ring() override {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    something_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable work_there_;  // for the threads
  std::condition_variable something_;   // for the owner
  Ring<Job> jobs_;
  std::vector<Done> done_;
  bool rung_ = false;
  bool stopping_ = false;
  std::vector<Job> started_;  // the owner's
  std::vector<Done> reaped_;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace

std::unique_ptr<LaneStorage> make_pread(const StorageSpec& spec, ImageFile file) {
  return std::make_unique<PreadStorage>(spec, std::move(file));
}

}  // namespace leanstream::hardware
