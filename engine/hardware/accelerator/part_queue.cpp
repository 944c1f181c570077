#include "engine/hardware/accelerator/part_queue.h"

#include <chrono>
#include <thread>

#include "engine/base/check.h"

namespace leanstream::hardware {
namespace {

// The cursor: task · 2^kIndexBits + index of the part within it.
constexpr int kIndexBits = 24;
constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
constexpr int kLooksWithoutClock = 64;  // about a microsecond

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

TimeNs steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

PartQueue::PartQueue(std::size_t tasks, std::size_t window, const Patience& patience,
                     Retirement& retirement)
    : tasks_(tasks),
      window_(window),
      patience_(patience),
      retirement_(retirement),
      task_patience_ns_(patience.for_tasks_ns) {
  LEANSTREAM_CHECK(tasks >= 1 && window >= 1, "{} tasks, a window of {}", tasks, window);
}

TaskId PartQueue::add(std::int64_t parts, TaskId needs, bool meets) {
  LEANSTREAM_CHECK(parts >= 1 && parts <= static_cast<std::int64_t>(kIndexMask), "{} parts", parts);
  LEANSTREAM_CHECK(needs <= added_, "task {} needs task {}", added_, needs);
  LEANSTREAM_CHECK(added_ - released_ < tasks_.size(), "{} tasks at once", tasks_.size() + 1);
  Task& task = tasks_[place_of_task(added_)];
  task.parts.store(parts, std::memory_order_relaxed);
  task.first.store(parts_added_, std::memory_order_relaxed);
  task.needs.store(needs, std::memory_order_relaxed);
  task.meets.store(meets, std::memory_order_relaxed);
  parts_added_ += static_cast<std::uint64_t>(parts);
  return added_++;
}

void PartQueue::publish() {
  published_.store(added_);
  wake();
}

void PartQueue::stop() {
  stopped_.store(true);
  wake();
}

bool PartQueue::take(Part& part) {
  Waiting waiting;
  while (!stopped_.load(std::memory_order_relaxed)) {
    std::uint64_t cursor = cursor_.load();
    const Look found = look(cursor, part);
    if (found == Look::ready) {
      const std::uint64_t next = part.last ? (part.task + 1) << kIndexBits : cursor + 1;
      if (cursor_.compare_exchange_strong(cursor, next)) return true;
      continue;
    }
    if (found != waiting.why) waiting = {.why = found};
    if (!goes_on(waiting)) {
      sleep();
      waiting = {};
    }
  }
  return false;
}

// The part at the cursor, if it may be done. The cursor never has a value twice: if it still has
// this one when it is exchanged, the task has not been written anew since.
PartQueue::Look PartQueue::look(std::uint64_t cursor, Part& part) const {
  part.task = cursor >> kIndexBits;
  if (part.task >= published_.load()) return Look::no_task;
  const Task& task = tasks_[place_of_task(part.task)];
  part.index = static_cast<std::int64_t>(cursor & kIndexMask);
  part.last = part.index + 1 == task.parts.load(std::memory_order_relaxed);
  part.number = task.first.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(part.index);
  if (task.needs.load(std::memory_order_relaxed) > ended_.load()) {
    return task.meets.load(std::memory_order_relaxed) ? Look::meets : Look::others;
  }
  return part.number < retired_.load() + window_.size() ? Look::ready : Look::others;
}

// Whether a thread that found nothing looks again at once.
bool PartQueue::goes_on(Waiting& waiting) const {
  if (waiting.why == Look::meets) return false;
  const TimeNs limit_ns =
      waiting.why == Look::no_task ? task_patience_ns_.load() : patience_.for_others_ns;
  if (limit_ns == 0) return false;
  pause_processor();
  if (++waiting.looks < kLooksWithoutClock) return true;
  if (limit_ns == kNever) {
    std::this_thread::yield();
    return true;
  }
  if (waiting.since_ns == 0) waiting.since_ns = steady_ns();
  return steady_ns() - waiting.since_ns < limit_ns;
}

// Either this sees what has changed, or whoever changes it sees a sleeper and changes the signal.
void PartQueue::sleep() {
  sleepers_.fetch_add(1);
  const std::int32_t signal = signal_.load();
  Part part;
  if (!stopped_.load() && look(cursor_.load(), part) != Look::ready) signal_.wait(signal);
  sleepers_.fetch_sub(1);
}

void PartQueue::wake() {
  if (sleepers_.load() == 0) return;
  signal_.fetch_add(1);
  signal_.notify_all();
}

// Whoever finds the token taken may leave: its holder looks again after giving it back.
void PartQueue::done(const Part& part) {
  Place& place = window_[place_of_part(part.number)];
  place.part = part;
  place.done.store(part.number + 1);
  for (;;) {
    if (retiring_.exchange(true)) return;
    retire_done();
    const std::uint64_t next = retired_.load();
    retiring_.store(false);
    if (window_[place_of_part(next)].done.load() != next + 1) return;
  }
}

void PartQueue::retire_done() {
  const std::uint64_t before = retired_.load();
  std::uint64_t next = before;
  bool ended = false;
  for (;; ++next) {
    const Place& place = window_[place_of_part(next)];
    if (place.done.load() != next + 1) break;
    const Part part = place.part;
    retirement_.retire(part);
    retired_.store(next + 1);
    if (!part.last) continue;
    ended_.store(part.task + 1);
    ended = true;
  }
  if (next == before) return;
  wake();
  if (ended) retirement_.ended();
}

}  // namespace leanstream::hardware
