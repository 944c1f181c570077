// Which processors the threads of a run keep to. A disk of virtual machines and of small devices
// interrupts one processor only: a thread that computes there is stopped for every read that ends.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leanstream::hardware {

// Each ascending, never empty.
struct Processors {
  std::vector<int> all;          // that this process may use
  std::vector<int> scheduler;    // of the thread that submits and sleeps in the storage
  std::vector<int> accelerator;  // of the threads that compute
  std::vector<int> predictor;

  bool apart() const { return scheduler != all; }
  std::string text() const;  // a sentence for a run's facts
};

// The scheduler's thread stays on the interrupted processor and the accelerator off it; predictions
// go where no thread of the accelerator needs the processor, else to the scheduler, which sleeps
// while they are made. Anywhere: none is interrupted, or the accelerator needs all of them.
Processors choose_processors(std::vector<int> all, std::optional<int> interrupted,
                             int accelerator_threads);

// For the disk under a file; `apart` false: anywhere.
Processors processors_for(const std::string& path, int accelerator_threads, bool apart);

// From now on the calling thread runs on these. Where the system refuses, anywhere.
void keep_to(std::span<const int> processors);

// A thread that does its work on these.
template <typename Work>
std::thread thread_on(std::span<const int> processors, Work work) {
  return std::thread([where = std::vector<int>(processors.begin(), processors.end()),
                      work = std::move(work)]() mutable {
    keep_to(where);
    work();
  });
}

// The same of the calling thread while this object, which belongs to it, is there.
class KeptTo {
 public:
  explicit KeptTo(std::span<const int> processors);
  ~KeptTo();
  KeptTo(const KeptTo&) = delete;
  KeptTo& operator=(const KeptTo&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace leanstream::hardware
