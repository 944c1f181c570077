// Tickets and payloads: every command gets a ticket, every ticket completes once.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

Command& Scheduler::emit(CommandKind kind, StepId step, LayerId layer, TokenId token,
                         std::int32_t tokens) {
  Ticket& ticket = tickets_[next_ticket_ % tickets_.size()];
  LEANSTREAM_CHECK(ticket.id == 0, "ticket {} is still outstanding {} tickets later", ticket.id,
                   tickets_.size());
  ticket = {.id = next_ticket_, .kind = kind, .step = step, .layer = layer, .submitted_ns = now_};
  ++outstanding_;
  Command& command = commands_.emplace_back();
  command.ticket = next_ticket_++;
  command.kind = kind;
  command.layer = layer;
  command.token = token;
  command.tokens = tokens;
  return command;
}

Scheduler::Ticket& Scheduler::ticket_of(const Command& command) {
  return tickets_[command.ticket % tickets_.size()];
}

std::int32_t Scheduler::take_payload() {
  if (free_payloads_.empty()) {
    free_payloads_.push_back(static_cast<std::int32_t>(payloads_.size()));
    payloads_.emplace_back();
  }
  const std::int32_t index = free_payloads_.back();
  free_payloads_.pop_back();
  Payload& payload = payloads_[static_cast<std::size_t>(index)];
  payload.blocks.clear();
  payload.slots.clear();
  return index;
}

void Scheduler::give_back(std::int32_t payload) {
  free_payloads_.push_back(payload);
}

// The command's spans point into the payload's vectors, which keep their memory when payloads_
// grows: a move of a vector moves no elements.
void Scheduler::attach(Command& command, std::int32_t payload) {
  const Payload& p = payloads_[static_cast<std::size_t>(payload)];
  command.blocks = p.blocks;
  command.slots = p.slots;
  ticket_of(command).payload = payload;
}

Scheduler::Ticket Scheduler::settle(const Completion& completion) {
  Ticket& slot = tickets_[completion.ticket % tickets_.size()];
  LEANSTREAM_CHECK(completion.ticket != 0 && slot.id == completion.ticket,
                   "ticket {} completes but is not outstanding", completion.ticket);
  const Ticket ticket = slot;
  slot = {};
  --outstanding_;
  tail_.add(completion, ticket.kind, ticket.layer);
  return ticket;
}

std::span<const Command> Scheduler::take_commands() {
  taken_.swap(commands_);
  commands_.clear();
  return taken_;
}

void Scheduler::hash_commands() {
  for (const Command& c : commands_) {
    hash_.add(c.ticket);
    hash_.add(static_cast<std::uint64_t>(c.kind));
    hash_.add(static_cast<std::uint64_t>(c.layer));
    hash_.add(static_cast<std::uint64_t>(c.token));
    hash_.add(static_cast<std::uint64_t>(c.tokens));
    hash_.add(static_cast<std::uint64_t>(c.lane));
    hash_.add(static_cast<std::uint64_t>(c.merge_blocks));
    hash_.add(static_cast<std::uint64_t>(c.segment));
    hash_.add(static_cast<std::uint64_t>(c.feature));
    hash_.add(c.target);
    hash_.add_all(c.blocks);
    hash_.add_all(c.slots);
    tail_.add(now_, c);
  }
}

}  // namespace leanstream::scheduler
