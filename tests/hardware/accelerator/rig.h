// A tiny model with its blocks on a make-believe flash, and a driver that plays the scheduler's
// part against an accelerator. A slot holds NaN but for the time from the release of its block to
// the end of the segment: whatever else is computed shows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/random.h"
#include "engine/hardware/accelerator/accelerator.h"
#include "engine/transformer/decoder.h"
#include "engine/transformer/model.h"

namespace leanstream::hardware::test {

// 2 layers, hidden 64, ffn 96 in blocks of 5 neurons: 20 of them, the last with one neuron.
class TinyFlash {
 public:
  static constexpr BlockId kBlocks = 20;

  TinyFlash();

  transformer::GgufFile file;
  transformer::Model model;  // what is right
  transformer::Decoder decoder;
  transformer::BlockLayout layout;
  model::BlockGeometry geometry;
  std::vector<std::vector<std::int32_t>> order;  // of each layer's neurons on flash

  std::span<const std::byte> block(LayerId l, BlockId b) const;
  // In the model's order.
  std::vector<std::int32_t> neurons(LayerId l, const std::vector<BlockId>& blocks) const;

 private:
  std::vector<std::byte> image_;
};

const TinyFlash& tiny_flash();

// The blocks of one layer of one token in segments; the cut of a prompt is that of its first token.
using Segments = std::vector<std::vector<BlockId>>;
using Cuts = std::map<std::pair<TokenId, LayerId>, Segments>;

// All blocks, or a random share of them, in random order and random segments.
Cuts random_cuts(TokenId tokens, double share, RandomStream& random);

struct Answer {
  scheduler::Command command;  // its spans are gone
  std::vector<float> residual, importance;
  std::int32_t sampled;
  TimeNs work_ns;
};

struct Drive {
  TokenId prompt = 1;
  TokenId tokens = 16;  // with the prompt
  Cuts cuts;
  RandomStream* delays = nullptr;  // before commands
  // Called after each poll; false ends the drive.
  std::function<bool()> after_poll = [] { return true; };
};

class Rig {
 public:
  explicit Rig(TokenId tokens);
  Rig(const Rig&) = delete;

  AcceleratorSpec spec;  // may be changed before drive()

  // All answers, in order. Fails the test when nothing ends for 20 s.
  std::vector<Answer> drive(const Drive& drive);
  // Against one that exists.
  std::vector<Answer> drive(Accelerator& accelerator, const Drive& drive);

 private:
  class Run;
  std::vector<std::byte> arena_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;                     // guarded by mutex_
  std::deque<std::vector<SlotId>> slots_;  // of all releases: a run may be left unfinished
};

// Ids of a text.
std::vector<std::int32_t> some_ids(std::int64_t count, std::uint64_t seed = 1);

}  // namespace leanstream::hardware::test
