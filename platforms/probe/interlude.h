// What goes on in a run while the scheduler's thread waits: it sleeps, and another thread works,
// whose data pass through the caches. What is measured right after that is as cold as in a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "engine/base/types.h"
#include "engine/hardware/storage/processors.h"

namespace leanstream::probe {

class Interlude {
 public:
  // The other thread keeps to `processors`.
  explicit Interlude(std::span<const int> processors)
      : data_(kBytes / sizeof(std::uint64_t), 1),
        thread_(hardware::thread_on(processors, [this] { serve(); })) {}
  ~Interlude() {
    set(over);
    thread_.join();
  }
  Interlude(const Interlude&) = delete;
  Interlude& operator=(const Interlude&) = delete;

  // Returns when the other thread has read 4 MiB, as a small layer does.
  void pass() {
    set(asked);
    while (state_.load() == asked) state_.wait(asked);
  }

 private:
  enum State : std::uint32_t { idle, asked, over };
  static constexpr Bytes kBytes = Bytes{256} << 20;
  static constexpr std::size_t kWords = (std::size_t{4} << 20) / sizeof(std::uint64_t);

  void set(State state) {
    state_.store(state);
    state_.notify_all();
  }
  void serve() {
    for (std::size_t from = 0;; from = (from + kWords) % data_.size()) {
      while (state_.load() == idle) state_.wait(idle);
      if (state_.load() == over) return;
      for (std::size_t i = from; i < from + kWords; ++i) sum_ += data_[i];
      set(idle);
    }
  }

  std::vector<std::uint64_t> data_;
  std::uint64_t sum_ = 0;
  std::atomic<std::uint32_t> state_{idle};
  std::thread thread_;
};

}  // namespace leanstream::probe
