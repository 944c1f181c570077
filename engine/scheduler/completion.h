// What a world answers. Every ticket completes exactly once.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/types.h"

namespace leanstream::scheduler {

enum class Status : std::uint8_t {
  ok,
  error,      // read: the blocks in `not_read` could not be read; they may be asked for again
  cancelled,  // read: the blocks in `not_read` were taken back by a cancel
  failed,     // the device will not carry out this command, nor another like it
  timed_out,  // no ticket: the deadline passed and nothing had completed
};

const char* name_of(Status status);

struct Completion {
  TicketId ticket = 0;
  TimeNs time_ns = 0;  // stamped once, on arrival; never decreases within a run
  Status status = Status::ok;
  TimeNs work_ns = 0;  // accelerator: the part of the command's time that was work, not waiting
                       // or synchronising
  std::int32_t sampled = kNone;  // head: vocabulary id, kNone when unknown
  // The spans are valid until the next wait.
  // Importance codes in the model's neuron order: predict: one a neuron; end_layer: the truth, one
  // a neuron for each token of the command, where the world knows it.
  std::span<const std::uint8_t> scores{};
  std::span<const BlockId> not_read{};   // read: of its blocks; empty when it is ok
  std::span<const TimeNs> request_ns{};  // read: latency of each device request, from when the
                                         // device took it to its end; empty when unknown
  // head: −ln p of the tokens of the text up to the sampled one, as far as they are new; empty when
  // unknown. The first head of a run with a prompt has those of tokens 1 … prompt.
  std::span<const float> nll{};
};

}  // namespace leanstream::scheduler
