// A few threads that share the parts of one piece of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace leanstream::transformer {

class ThreadPool {
 public:
  // threads ≥ 1 counts the caller's own.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(0) … work(parts − 1), each once, on any thread, in any order; returns when all are
  // done. `work` must not throw and must not call run(). One caller at a time.
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& work);

  // The machine's processors, at most `most`.
  static int sensible_threads(int most = 16);

 private:
  void serve();
  void drain(const std::function<void(std::int64_t)>& work, std::int64_t parts);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::int64_t)>* work_ = nullptr;  // guarded by mutex_, as all below
  std::int64_t parts_ = 0;
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::atomic<std::int64_t> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace leanstream::transformer
