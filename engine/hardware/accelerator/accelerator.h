// Carries out the accelerator's commands: attention, begin_layer, release, end_layer, head. The
// device works by itself; one thread submits and polls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "engine/base/types.h"
#include "engine/scheduler/command.h"
#include "engine/transformer/block_layout.h"
#include "engine/transformer/decoder.h"

namespace leanstream::hardware {

// Which token comes next: given ids (a text, a trace) or, beyond them, sampled ones.
struct TokenFeed {
  std::vector<std::int32_t> ids;  // of tokens 0 …; at least the prompt
  transformer::SamplingRule sampling{};
  std::uint64_t seed = 0;
};

struct AcceleratorSpec {
  const transformer::Decoder* decoder = nullptr;  // what stays resident; outlives the accelerator
  transformer::BlockLayout layout;
  model::BlockGeometry geometry;
  // Flash order of a layer's neurons: order(l)[i] is the i-th; empty: the model's own. Any thread.
  std::function<std::span<const std::int32_t>(LayerId)> order;
  std::span<const std::byte> arena;  // slots of geometry.block_bytes; slot s starts at s · that
  backend::Synchronisation synchronisation = backend::Synchronisation::flags;
  int threads = 1;                // that compute; more than the caller's
  std::vector<int> processors{};  // that they keep to; empty: as the caller
  TokenId tokens = 0;             // of the run, the prompt included
  TokenFeed feed;
  bool keep_nll = false;  // of the given ids
  // Called from any thread when there is something to poll that somebody may wait for: not for the
  // end of a begin_layer, nor for that of a release behind which an end_layer is at once.
  std::function<void()> wake;
};

// A command that has ended.
struct Ended {
  TicketId ticket = 0;
  bool failed = false;  // the device is gone
  TimeNs work_ns = 0;   // in which at least one thread computed; what two commands share, the first
  std::int32_t sampled = kNone;  // head: the next token, given or sampled
  // The residual [tokens of the command, hidden] right after the command: after its attention; of a
  // release the sum of all segments so far, in release order; after the layer; of a head the
  // embedding of the next token [1, hidden]. None after begin_layer, and after a release of several
  // tokens. Immutable until the attention of the next-but-one layer is submitted.
  std::span<const float> residual{};
  // end_layer of what begins with token 0 (the prompt, however short): importance [tokens, ffn] of
  // the blocks that were computed, 0 of others, in the model's neuron order. Until the next
  // begin_layer is submitted.
  std::span<const float> importance{};
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // Takes a command over; commands run in this order, those of a layer being attention,
  // begin_layer, releases, end_layer. Never blocks. Its spans, and the bytes of its slots, stay
  // until it has ended or this object is gone.
  virtual void submit(const scheduler::Command& command) = 0;

  // Appends what has ended since the last call, in order. Never blocks.
  virtual void poll(std::vector<Ended>& out) = 0;

  // −ln p(ids[t+1] | ids[0…t]) of the given ids so far, from t = 0; needs keep_nll.
  virtual std::span<const float> nll() const = 0;

  // Memory of its own, by part: "key/value cache", "activations", …; the most so far.
  virtual std::vector<std::pair<std::string, Bytes>> memory() const = 0;
};

}  // namespace leanstream::hardware
