#include "tests/hardware/accelerator/rig.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/hardware/accelerator/registry.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::hardware::test {
namespace {

using scheduler::Command;
using scheduler::CommandKind;

constexpr SlotId kSlots = 2 * TinyFlash::kBlocks;
constexpr int kPoison = 0xff;  // four of them are a NaN

template <typename T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[random.next_below(i)]);
}

}  // namespace

TinyFlash::TinyFlash()
    : file(transformer::write_temporary("tiny.gguf", transformer::tiny_model())),
      model(file, 1),
      decoder(transformer::read_decoder(file)) {
  const transformer::LlamaShape& shape = model.shape();
  constexpr auto kF32 = transformer::TensorType::kF32;
  layout = {kF32, kF32, kF32, false, shape.hidden, 5};
  geometry = {5, kBlocks, layout.bytes(), static_cast<double>(layout.bytes()), shape.ffn};
  image_.resize(static_cast<std::size_t>(shape.layers * kBlocks) * layout.bytes());
  RandomStream random(1, "tests.order");
  for (LayerId l = 0; l < shape.layers; ++l) {
    order.emplace_back(static_cast<std::size_t>(shape.ffn));
    std::iota(order.back().begin(), order.back().end(), 0);
    shuffle(order.back(), random);
    const transformer::LayerWeights& w = model.layer(l);
    for (BlockId b = 0; b < kBlocks; ++b) {
      std::byte* at = image_.data() + static_cast<std::size_t>(l * kBlocks + b) * layout.bytes();
      for (std::int32_t i = 0; i < geometry.neurons(b); ++i) {
        const std::int32_t j = order.back()[static_cast<std::size_t>(geometry.first_neuron(b) + i)];
        const auto put = [&](std::size_t offset, std::span<const float> row) {
          std::memcpy(at + offset, row.data(), row.size_bytes());
        };
        put(layout.gate_offset(i), w.gate[j]);
        put(layout.up_offset(i), w.up[j]);
        put(layout.down_offset(i), w.down[j]);
      }
    }
  }
}

std::span<const std::byte> TinyFlash::block(LayerId l, BlockId b) const {
  return std::span(image_).subspan(static_cast<std::size_t>(l * kBlocks + b) * layout.bytes(),
                                   layout.bytes());
}

std::vector<std::int32_t> TinyFlash::neurons(LayerId l, const std::vector<BlockId>& blocks) const {
  std::vector<std::int32_t> out;
  for (const BlockId b : blocks) {
    const auto first = order[static_cast<std::size_t>(l)].begin() + geometry.first_neuron(b);
    out.insert(out.end(), first, first + geometry.neurons(b));
  }
  return out;
}

const TinyFlash& tiny_flash() {
  static const TinyFlash flash;
  return flash;
}

Cuts random_cuts(TokenId tokens, double share, RandomStream& random) {
  Cuts cuts;
  for (TokenId t = 0; t < tokens; ++t) {
    for (LayerId l = 0; l < tiny_flash().model.shape().layers; ++l) {
      std::vector<BlockId> blocks(TinyFlash::kBlocks);
      std::iota(blocks.begin(), blocks.end(), 0);
      shuffle(blocks, random);
      blocks.resize(static_cast<std::size_t>(share * TinyFlash::kBlocks));
      Segments& segments = cuts[{t, l}];
      for (std::size_t i = 0; i < blocks.size();) {
        const std::size_t n = std::min<std::size_t>(blocks.size() - i, 1 + random.next_below(20));
        segments.emplace_back(blocks.begin() + static_cast<std::ptrdiff_t>(i),
                              blocks.begin() + static_cast<std::ptrdiff_t>(i + n));
        i += n;
      }
    }
  }
  return cuts;
}

std::vector<std::int32_t> some_ids(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed, "tests.ids");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (auto& id : ids) id = static_cast<std::int32_t>(random.next_below(263));
  return ids;
}

Rig::Rig(TokenId tokens)
    : arena_(static_cast<std::size_t>(kSlots) * tiny_flash().layout.bytes(), std::byte{kPoison}) {
  const TinyFlash& flash = tiny_flash();
  spec.decoder = &flash.decoder;
  spec.layout = flash.layout;
  spec.geometry = flash.geometry;
  spec.order = [](LayerId l) {
    return std::span<const std::int32_t>(tiny_flash().order[static_cast<std::size_t>(l)]);
  };
  spec.arena = arena_;
  spec.tokens = tokens;
  spec.feed.ids = some_ids(tokens);
  spec.keep_nll = true;
  spec.wake = [this] {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  };
}

// Commands in the order of the scheduler, which waits for the end of a layer and of a head.
class Rig::Run {
 public:
  Run(Rig& rig, Accelerator& accelerator, const Drive& drive)
      : rig_(rig), accelerator_(accelerator), drive_(drive) {
    for (SlotId s = 0; s < kSlots; ++s) free_.push_back(s);
  }

  std::vector<Answer> all() {
    for (TokenId t = 0; t < drive_.tokens && going_;) {
      const std::int32_t tokens = t == 0 ? drive_.prompt : 1;
      for (LayerId l = 0; l < tiny_flash().model.shape().layers && going_; ++l) layer(t, l, tokens);
      if (!going_) break;
      t += tokens;
      submit({.kind = CommandKind::head, .token = t - 1});
      wait_for_all();
    }
    return std::move(answers_);
  }

 private:
  void layer(TokenId t, LayerId l, std::int32_t tokens) {
    submit({.kind = CommandKind::attention, .layer = l, .token = t, .tokens = tokens});
    submit({.kind = CommandKind::begin_layer, .layer = l, .token = t, .tokens = tokens});
    const auto cut = drive_.cuts.find({t, l});
    ASSERT_NE(cut, drive_.cuts.end());
    std::int32_t segment = 0;
    for (const std::vector<BlockId>& blocks : cut->second) {
      Command release{.kind = CommandKind::release, .layer = l, .token = t, .tokens = tokens};
      release.segment = segment++;
      std::vector<SlotId> slots;
      for (const BlockId b : blocks) slots.push_back(arrive(l, b));
      release.blocks = blocks;
      release.slots = rig_.slots_.emplace_back(std::move(slots));
      submit(release);
    }
    submit({.kind = CommandKind::end_layer, .layer = l, .token = t, .tokens = tokens});
    wait_for_all();
  }

  SlotId arrive(LayerId l, BlockId b) {
    while (free_.empty() && going_) poll();
    if (!going_) return 0;
    const SlotId s = free_.front();
    free_.pop_front();
    const auto bytes = tiny_flash().block(l, b);
    std::memcpy(slot(s), bytes.data(), bytes.size());
    return s;
  }

  void submit(Command command) {
    if (!going_) return;
    if (drive_.delays != nullptr && drive_.delays->next_below(4) == 0) {
      const auto until = std::chrono::steady_clock::now() +
                         std::chrono::microseconds(drive_.delays->next_below(30));
      while (std::chrono::steady_clock::now() < until) poll();
    }
    command.ticket = ++ticket_;
    outstanding_.push_back(command);
    accelerator_.submit(command);
    poll();
  }

  void poll() {
    ended_.clear();
    accelerator_.poll(ended_);
    for (const Ended& ended : ended_) take(ended);
    if (!ended_.empty()) last_answer_ = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - last_answer_ > std::chrono::seconds(20)) {
      ADD_FAILURE() << "nothing ends after ticket " << ticket_;
      going_ = false;
    }
    going_ = drive_.after_poll() && going_;
  }

  void take(const Ended& ended) {
    ASSERT_FALSE(outstanding_.empty());
    const Command command = outstanding_.front();
    outstanding_.pop_front();
    EXPECT_EQ(ended.ticket, command.ticket);
    EXPECT_FALSE(ended.failed);
    for (const SlotId s : command.slots) {
      std::memset(slot(s), kPoison, tiny_flash().layout.bytes());
      free_.push_back(s);
    }
    answers_.push_back({command,
                        {ended.residual.begin(), ended.residual.end()},
                        {ended.importance.begin(), ended.importance.end()},
                        ended.sampled,
                        ended.work_ns});
    answers_.back().command.blocks = {};
    answers_.back().command.slots = {};
  }

  void wait_for_all() {
    while (!outstanding_.empty() && going_) {
      poll();
      if (outstanding_.empty()) break;
      std::unique_lock lock(rig_.mutex_);
      rig_.changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return rig_.woken_; });
      rig_.woken_ = false;
    }
  }

  std::byte* slot(SlotId s) {
    return rig_.arena_.data() + static_cast<std::size_t>(s) * tiny_flash().layout.bytes();
  }

  Rig& rig_;
  Accelerator& accelerator_;
  const Drive& drive_;
  std::deque<SlotId> free_;
  std::deque<Command> outstanding_;
  std::vector<Ended> ended_;
  std::vector<Answer> answers_;
  TicketId ticket_ = 0;
  bool going_ = true;
  std::chrono::steady_clock::time_point last_answer_ = std::chrono::steady_clock::now();
};

std::vector<Answer> Rig::drive(const Drive& drive) {
  return this->drive(*make_accelerator("cpu", spec), drive);
}

std::vector<Answer> Rig::drive(Accelerator& accelerator, const Drive& drive) {
  return Run(*this, accelerator, drive).all();
}

}  // namespace leanstream::hardware::test
