#include "engine/hardware/accelerator/part_queue.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "engine/base/random.h"

namespace leanstream::hardware {
namespace {

constexpr std::size_t kTasks = 16, kWindow = 5;

// Threads that take parts and leave a mark in the place of each; retiring checks and removes it.
class Workers final : public Retirement {
 public:
  Workers(int threads, const Patience& patience) : queue(kTasks, kWindow, patience, *this) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Workers() {
    queue.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  void retire(const Part& part) override {
    ASSERT_EQ(part.number, retired);
    ASSERT_EQ(marks_[queue.place_of_part(part.number)].load(), part.number + 1);
    marks_[queue.place_of_part(part.number)] = 0;
    ++retired;
    if (part.last) ++tasks_retired;
  }
  void ended() override { ++ends; }

  std::uint64_t retired = 0;  // of the thread that retires
  std::atomic<TaskId> tasks_retired{0};
  std::atomic<int> ends{0};
  std::atomic<bool> wrong{false};
  std::atomic<TaskId> needs[kTasks] = {};  // by place of the task
  PartQueue queue;

 private:
  void serve() {
    Part part;
    while (queue.take(part)) {
      if (tasks_retired < needs[queue.place_of_task(part.task)]) wrong = true;
      if (marks_[queue.place_of_part(part.number)].exchange(part.number + 1) != 0) wrong = true;
      queue.done(part);
    }
  }

  std::atomic<std::uint64_t> marks_[kWindow] = {};
  std::vector<std::thread> threads_;
};

class PartQueues : public testing::TestWithParam<int> {};

TEST_P(PartQueues, PartsAreRetiredInOrderAndBeginWhenWhatTheyNeedHasEnded) {
  for (const Patience& patience :
       {Patience{0, 0}, Patience{50'000, 20'000}, Patience{kNever, 20'000}}) {
    Workers workers(GetParam(), patience);
    RandomStream random(7, "tests.parts");
    std::uint64_t parts = 0;
    for (TaskId task = 0; task < 2'000; ++task) {
      while (workers.queue.added() - workers.queue.ended() >= kTasks) std::this_thread::yield();
      workers.queue.release(workers.queue.ended());
      const auto count = static_cast<std::int64_t>(1 + random.next_below(12));
      const TaskId needs = task - random.next_below(std::min<TaskId>(task, 3) + 1);
      workers.needs[workers.queue.place_of_task(task)] = needs;
      ASSERT_EQ(workers.queue.add(count, needs, random.next_below(8) == 0), task);
      parts += static_cast<std::uint64_t>(count);
      if (random.next_below(3) == 0) workers.queue.publish();
      if (workers.queue.added() - workers.queue.ended() >= kTasks) workers.queue.publish();
    }
    workers.queue.publish();
    while (workers.queue.ended() < 2'000) std::this_thread::yield();
    EXPECT_EQ(workers.retired, parts);
    EXPECT_FALSE(workers.wrong);
    EXPECT_GT(workers.ends, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, PartQueues, testing::Values(1, 2, 4));

TEST(PartQueue, StopsThreadsThatSleepAndThoseThatLook) {
  for (const TimeNs patience_ns : {TimeNs{0}, kNever}) {
    Workers workers(2, {patience_ns, 0});
    workers.queue.add(3, 0, false);  // never published
  }
}

}  // namespace
}  // namespace leanstream::hardware
