#include "engine/scheduler/event_tail.h"

#include <algorithm>

#include <fmt/format.h>

namespace leanstream::scheduler {

void EventTail::add(TimeNs now, const Command& c) {
  const std::int64_t detail =
      c.kind == CommandKind::predict ? c.feature : static_cast<std::int64_t>(c.blocks.size());
  events_[added_++ % kKept] = {now, c.ticket, c.kind, c.layer, c.token, detail, false, Status::ok};
}

void EventTail::add(const Completion& c, CommandKind kind, LayerId layer) {
  events_[added_++ % kKept] = {c.time_ns, c.ticket, kind, layer, 0, 0, true, c.status};
}

std::string EventTail::text() const {
  std::string out = "last events (time in ns, ticket, what, layer):\n";
  for (std::size_t i = added_ > kKept ? added_ - kKept : 0; i < added_; ++i) {
    const Event& e = events_[i % kKept];
    if (e.completion) {
      out += fmt::format("  {:>14} {:>8} done {} layer {}{}\n", e.time_ns, e.ticket,
                         name_of(e.kind), e.layer, e.status == Status::ok ? "" : " FAILED");
    } else {
      out += fmt::format("  {:>14} {:>8} {} layer {} token {} ({})\n", e.time_ns, e.ticket,
                         name_of(e.kind), e.layer, e.token, e.detail);
    }
  }
  return out;
}

}  // namespace leanstream::scheduler
