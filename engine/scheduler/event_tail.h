// The last commands and completions of a run, for the message of a failed check.
#pragma once

#include <array>
#include <string>

#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"

namespace leanstream::scheduler {

class EventTail {
 public:
  void add(TimeNs now, const Command& command);
  void add(const Completion& completion, CommandKind kind, LayerId layer);
  // One line an event, oldest first.
  std::string text() const;

 private:
  struct Event {
    TimeNs time_ns = 0;
    TicketId ticket = 0;
    CommandKind kind = CommandKind::read;
    LayerId layer = 0;
    TokenId token = 0;
    std::int64_t detail = 0;  // blocks, or the feature of a prediction
    bool completion = false;
    Status status = Status::ok;
  };

  static constexpr std::size_t kKept = 48;
  std::array<Event, kKept> events_{};
  std::size_t added_ = 0;
};

}  // namespace leanstream::scheduler
