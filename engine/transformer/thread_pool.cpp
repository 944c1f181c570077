#include "engine/transformer/thread_pool.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::transformer {

ThreadPool::ThreadPool(int threads) {
  LEANSTREAM_CHECK(threads >= 1, "{} threads", threads);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t parts, const std::function<void(std::int64_t)>& work) {
  if (workers_.empty() || parts <= 1) {
    for (std::int64_t part = 0; part < parts; ++part) work(part);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    parts_ = parts;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  drain(work, parts);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::drain(const std::function<void(std::int64_t)>& work, std::int64_t parts) {
  for (std::int64_t part = next_++; part < parts; part = next_++) work(part);
}

void ThreadPool::serve() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const auto* work = work_;
    const std::int64_t parts = parts_;
    lock.unlock();
    drain(*work, parts);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

int ThreadPool::sensible_threads(int most) {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most);
}

}  // namespace leanstream::transformer
