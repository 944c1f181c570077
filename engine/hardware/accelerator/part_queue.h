// Work cut into parts that threads take in order, as they become free, and that are retired in the
// same order, one at a time: what the reorder buffer of a processor does with instructions. So
// results can be put together in an order that no thread and no moment decides.
//
//   task   a piece of work of one or more parts; its parts may begin when what it needs has ended
//   part   what one thread does without a break; at most `window` are taken and not yet retired
//
// One thread adds tasks and looks at what has ended; others take parts. Nobody takes a lock: a task
// becomes visible by one store, a part is taken by one compare-and-exchange.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::hardware {

// From 0 in the order added. As a count: tasks 0 … count − 1.
using TaskId = std::uint64_t;

struct Part {
  std::uint64_t number = 0;  // from 0 over the parts of all tasks
  TaskId task = 0;
  std::int64_t index = 0;  // within the task
  bool last = false;       // of the task
  TimeNs begin_ns = 0;     // of the computation; set by whoever does it
  TimeNs end_ns = 0;
};

class Retirement {
 public:
  // Called for every part in order, never by two threads at once.
  virtual void retire(const Part& part) = 0;
  // Called when a task has ended that the adding thread may wait for.
  virtual void ended() = 0;

 protected:
  ~Retirement() = default;
};

// How long a thread that finds nothing to do goes on looking before it sleeps.
struct Patience {
  TimeNs for_tasks_ns = 0;   // nothing has been added; kNever: it never sleeps, but gives way
  TimeNs for_others_ns = 0;  // other threads are at work on what a task needs
};

class PartQueue {
 public:
  // `tasks`: that are added and not released, at most; `window`: see above.
  PartQueue(std::size_t tasks, std::size_t window, const Patience& patience,
            Retirement& retirement);

  // For the thread that adds. Others see what was added at publish(). `needs`: so many of the first
  // tasks must have ended. `meets`: threads sleep until the task may begin.
  TaskId add(std::int64_t parts, TaskId needs, bool meets);
  void publish();
  TaskId added() const { return added_; }
  TaskId ended() const { return ended_.load(); }
  bool is_published(TaskId task) const { return task < published_.load(); }
  // The places of tasks before this one may be used again.
  void release(TaskId task) { released_ = task; }
  void set_task_patience(TimeNs ns) { task_patience_ns_.store(ns); }
  // From now on take() returns false.
  void stop();

  // For the threads that work. Sleeps until there is a part to do; false: stopped.
  bool take(Part& part);
  // The results of the part are there.
  void done(const Part& part);

  // Where what belongs to a task or a part that is not retired can be kept.
  std::size_t place_of_task(TaskId task) const { return task % tasks_.size(); }
  std::size_t place_of_part(std::uint64_t number) const { return number % window_.size(); }

 private:
  // May be read by a thread that is late, while it is written anew; what that reads is not used.
  struct Task {
    std::atomic<std::int64_t> parts{0};
    std::atomic<std::uint64_t> first{0};  // number of its first part
    std::atomic<TaskId> needs{0};
    std::atomic<bool> meets{false};
  };
  struct Place {
    std::atomic<std::uint64_t> done{0};  // number of the part that is, plus 1
    Part part;
  };
  enum class Look : std::uint8_t { ready, no_task, others, meets };
  struct Waiting {
    Look why = Look::ready;
    int looks = 0;
    TimeNs since_ns = 0;  // after some looks without a clock; 0: not yet
  };

  Look look(std::uint64_t cursor, Part& part) const;
  bool goes_on(Waiting& waiting) const;
  void sleep();
  void wake();
  void retire_done();

  static constexpr std::size_t kLine = 64;  // bytes that processors share

  std::vector<Task> tasks_;
  std::vector<Place> window_;
  const Patience patience_;
  Retirement& retirement_;
  // Of the thread that adds.
  TaskId added_ = 0;
  TaskId released_ = 0;
  std::uint64_t parts_added_ = 0;

  alignas(kLine) std::atomic<std::uint64_t> cursor_{0};  // which part is taken next
  alignas(kLine) std::atomic<TaskId> published_{0};
  std::atomic<TimeNs> task_patience_ns_;
  std::atomic<bool> stopped_{false};
  alignas(kLine) std::atomic<TaskId> ended_{0};  // alone: it is polled, and seldom changes
  alignas(kLine) std::atomic<std::uint64_t> retired_{0};
  std::atomic<bool> retiring_{false};  // held by the thread that retires
  TaskId retiring_task_ = 0;           // of that thread
  alignas(kLine) std::atomic<std::int32_t> sleepers_{0};
  std::atomic<std::int32_t> signal_{0};  // changes when sleepers should look again
};

TimeNs steady_ns();

}  // namespace leanstream::hardware
