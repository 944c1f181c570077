// A world that completes commands in any order that devices may, at any times, with any errors.
#pragma once

#include <deque>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/policy/predict/predictor.h"
#include "tests/scheduler/choices.h"

namespace leanstream::scheduler {

// The accelerator serves in order, predictions too; reads end in any order, or in that of their
// lane. One completion or many are a batch. A cancel takes back any requests at a read's end.
class AnyOrderWorld final : public backend::Backend {
 public:
  static constexpr std::int32_t kEndToken = 5;  // what some heads sample

  // All outlive the world.
  AnyOrderWorld(Choices& choices, const policy::Predictor& predictor, std::int32_t ffn);

  TimeNs now() override { return now_; }
  void submit(std::span<const Command> commands) override;
  std::span<const Completion> wait(TimeNs deadline) override;

  std::int64_t unread_blocks() const { return unread_blocks_; }  // by an error
  bool gave_up() const { return gave_up_; }  // a command failed, or a deadline passed
  // Heads so far, up to the first that sampled kEndToken; 0: none has.
  std::int64_t heads_to_end() const { return heads_to_end_; }

 private:
  struct Read {
    Command command;
    std::size_t blocks = 0;  // that are not taken back
  };

  void take_back(TicketId read);
  void pass_time(TimeNs deadline);
  std::vector<std::size_t> reads_that_may_end() const;
  bool complete_one();
  void complete(const Command& command);
  void complete_read(const Read& read);
  void add(Completion done);

  Choices& choices_;
  const policy::Predictor& predictor_;
  std::int32_t ffn_;
  bool lanes_in_order_;
  std::uint64_t batch_more_;        // of so many times, all but one go on with the batch
  std::uint64_t error_one_in_ = 0;  // reads; 0: none
  TicketId fail_ticket_ = 0;
  std::int64_t silent_wait_ = 0;  // the wait at which no device answers any more

  TimeNs now_ = 0;
  std::int64_t waits_ = 0;
  std::int64_t unread_blocks_ = 0;
  bool gave_up_ = false;
  std::int64_t heads_ = 0;
  std::int64_t heads_to_end_ = 0;
  std::deque<Command> accelerator_, predictions_, cancels_;
  std::vector<Read> reads_;
  std::vector<Completion> batch_;
  std::deque<std::vector<std::uint8_t>> scores_;  // of the batch, as the others
  std::deque<std::vector<BlockId>> not_read_;
  std::deque<std::vector<TimeNs>> request_ns_;
};

}  // namespace leanstream::scheduler
