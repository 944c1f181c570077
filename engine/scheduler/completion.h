// What a world answers. Every ticket completes exactly once.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/types.h"

namespace leanstream::scheduler {

enum class Status : std::uint8_t {
  ok,
  failed,     // the device gave up on this command after its bounded retries
  timed_out,  // no ticket: the deadline passed and nothing had completed
};

struct Completion {
  TicketId ticket = 0;
  TimeNs time_ns = 0;  // stamped once, on arrival; never decreases within a run
  Status status = Status::ok;
  TimeNs work_ns = 0;  // accelerator: the part of the command's time that was work, not waiting
                       // or synchronising
  std::int32_t sampled = kNone;            // head: vocabulary id, kNone when unknown
  std::span<const std::uint8_t> scores{};  // predict: one importance code a neuron, in the
                                           // model's neuron order; valid until the next wait
};

}  // namespace leanstream::scheduler
