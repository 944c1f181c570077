#include "tests/scheduler/any_order_world.h"

#include <algorithm>
#include <set>

#include "engine/base/check.h"

namespace leanstream::scheduler {

namespace {

// Far beyond what the largest case takes; a run that submits more goes round in circles.
constexpr TicketId kMostCommands = 200'000;

}  // namespace

AnyOrderWorld::AnyOrderWorld(Choices& choices, const policy::Predictor& predictor, std::int32_t ffn)
    : choices_(choices),
      predictor_(predictor),
      ffn_(ffn),
      lanes_in_order_(choices.pick({false, false, true})),
      batch_more_(choices.pick<std::uint64_t>({1, 2, 3, 20})) {
  switch (choices.from_to(0, 7)) {
    case 5:
      silent_wait_ = choices.from_to(1, 300);
      break;
    case 6:
      fail_ticket_ = static_cast<TicketId>(choices.from_to(1, 300));
      break;
    case 7:
      error_one_in_ = choices.pick<std::uint64_t>({2, 5, 50});
      break;
    default:
      break;
  }
}

void AnyOrderWorld::submit(std::span<const Command> commands) {
  for (const Command& c : commands) {
    LEANSTREAM_CHECK(c.ticket < kMostCommands, "{} commands and no end", c.ticket);
    switch (c.kind) {
      case CommandKind::read:
        reads_.push_back({c, c.blocks.size()});
        break;
      case CommandKind::predict:
        predictions_.push_back(c);
        break;
      case CommandKind::cancel:
        cancels_.push_back(c);
        take_back(c.target);
        break;
      default:
        accelerator_.push_back(c);
    }
  }
  LEANSTREAM_CHECK(predictions_.size() <= 1, "{} predictions at once", predictions_.size());
}

// The device has begun any number of the read's requests, in order.
void AnyOrderWorld::take_back(TicketId read) {
  const auto target = std::find_if(reads_.begin(), reads_.end(),
                                   [&](const Read& r) { return r.command.ticket == read; });
  if (target == reads_.end()) return;
  std::vector<std::size_t> ends{0};
  for_each_request(target->command,
                   [&](std::size_t first, std::size_t n) { ends.push_back(first + n); });
  target->blocks = std::min(target->blocks, ends[choices_.below(ends.size())]);
}

std::span<const Completion> AnyOrderWorld::wait(TimeNs deadline) {
  batch_.clear(), scores_.clear(), not_read_.clear(), request_ns_.clear();
  if (++waits_ == silent_wait_) {
    gave_up_ = true;
    now_ = deadline;
    batch_.push_back({.time_ns = now_, .status = Status::timed_out});
    return batch_;
  }
  pass_time(deadline);
  LEANSTREAM_CHECK(complete_one(), "a wait for nothing");
  while (!choices_.one_in(batch_more_) && complete_one()) {
  }
  return batch_;
}

// Now and then nearly until the deadline.
void AnyOrderWorld::pass_time(TimeNs deadline) {
  const TimeNs most = deadline - now_;
  const TimeNs usual = choices_.pick<TimeNs>({1, 100, 100'000});
  const TimeNs limit = choices_.one_in(200) ? most : std::min(usual, most);
  now_ += static_cast<TimeNs>(choices_.below(static_cast<std::uint64_t>(limit) + 1));
}

std::vector<std::size_t> AnyOrderWorld::reads_that_may_end() const {
  std::vector<std::size_t> which;
  std::set<std::int32_t> lanes;
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (lanes.insert(reads_[i].command.lane).second || !lanes_in_order_) which.push_back(i);
  }
  return which;
}

// Completes one of the commands that may be next; false when there is none.
bool AnyOrderWorld::complete_one() {
  std::vector<std::deque<Command>*> queues;
  for (auto* queue : {&accelerator_, &predictions_, &cancels_}) {
    if (!queue->empty()) queues.push_back(queue);
  }
  const std::vector<std::size_t> reads = reads_that_may_end();
  if (queues.empty() && reads.empty()) return false;
  const std::uint64_t chosen = choices_.below(queues.size() + reads.size());
  if (chosen < queues.size()) {
    complete(queues[chosen]->front());
    queues[chosen]->pop_front();
    return true;
  }
  const std::size_t at = reads[chosen - queues.size()];
  complete_read(reads_[at]);
  reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

void AnyOrderWorld::complete(const Command& c) {
  Completion done{.ticket = c.ticket};
  if (c.kind == CommandKind::predict) {
    auto& codes = scores_.emplace_back(static_cast<std::size_t>(ffn_));
    predictor_.predict(c.token, c.layer, c.feature, codes);
    done.scores = codes;
  } else if (c.kind != CommandKind::cancel) {
    done.work_ns = choices_.pick<TimeNs>({0, 1, 50'000});
    if (c.kind == CommandKind::head) {
      ++heads_;
      done.sampled = choices_.one_in(10) ? kEndToken : 1;
      if (done.sampled == kEndToken && heads_to_end_ == 0) heads_to_end_ = heads_;
    }
  }
  add(done);
}

void AnyOrderWorld::complete_read(const Read& read) {
  const Command& c = read.command;
  Completion done{.ticket = c.ticket};
  const auto back = c.blocks.subspan(read.blocks);
  auto& lost = not_read_.emplace_back(back.begin(), back.end());
  if (error_one_in_ > 0 && choices_.one_in(error_one_in_)) {
    for (const BlockId b : c.blocks.first(read.blocks)) {
      if (choices_.one_in(2)) lost.push_back(b);
    }
    unread_blocks_ += static_cast<std::int64_t>(lost.size() - back.size());
  }
  if (!lost.empty()) done.status = back.empty() ? Status::error : Status::cancelled;
  done.not_read = lost;
  if (choices_.one_in(2)) {
    auto& latencies = request_ns_.emplace_back();
    for_each_request(c, [&](std::size_t first, std::size_t) {
      if (first < read.blocks) latencies.push_back(choices_.pick<TimeNs>({0, 100, 10'000'000}));
    });
    done.request_ns = latencies;
  }
  add(done);
}

void AnyOrderWorld::add(Completion done) {
  done.time_ns = now_;
  if (done.ticket == fail_ticket_) {
    gave_up_ = true;
    done.status = Status::failed;
  }
  batch_.push_back(done);
}

}  // namespace leanstream::scheduler
