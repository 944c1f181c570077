// The accelerator that every machine has: threads on its processors.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/hardware/accelerator/accelerator.h"
#include "engine/hardware/accelerator/forward_pass.h"
#include "engine/hardware/accelerator/part_queue.h"

namespace leanstream::hardware {

class CpuAccelerator final : public Accelerator, private Retirement {
 public:
  explicit CpuAccelerator(AcceleratorSpec spec);
  ~CpuAccelerator() override;  // what has not ended is dropped

  void submit(const scheduler::Command& command) override;
  void poll(std::vector<Ended>& out) override;
  std::span<const float> nll() const override { return pass_.nll(); }
  std::vector<std::pair<std::string, Bytes>> memory() const override { return pass_.memory(); }

 private:
  // A task of the queue: a phase of a command and, of its last, the answer.
  struct Step {
    Job job;
    Ended ended;
  };

  void check_order(const scheduler::Command& command);
  void check_blocks(const scheduler::Command& command);
  void serve(int worker);
  void retire(const Part& part) override;
  void ended() override;
  Step& step_of(TaskId task) { return steps_[queue_.place_of_task(task)]; }
  bool is_waited_for(TaskId task);

  const AcceleratorSpec spec_;
  ForwardPass pass_;
  std::vector<Step> steps_;
  PartQueue queue_;
  // Of the thread that submits and polls.
  std::vector<ForwardPass::Cut> cuts_;
  scheduler::Command last_{};  // command
  BlockSet released_;          // in the open layer
  TaskId opened_ = 0;          // tasks up to the opening of its MLP
  TaskId polled_ = 0;
  // Of the thread that retires.
  TimeNs worked_until_ns_ = 0;
  TimeNs work_ns_ = 0;  // of the command
  bool answered_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace leanstream::hardware
