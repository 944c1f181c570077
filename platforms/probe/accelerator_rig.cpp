#include "platforms/probe/accelerator_rig.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "engine/base/check.h"
#include "engine/base/median.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/hardware/accelerator/registry.h"
#include "engine/transformer/pack.h"
#include "platforms/probe/samples.h"

namespace leanstream::probe {
namespace {

using backend::Synchronisation;
using scheduler::Command;
using scheduler::CommandKind;

constexpr std::uint64_t kSeed = 1;
constexpr Bytes kPageBytes = 4096;

transformer::LlamaShape llama_shape(const Shape& shape) {
  const model::ModelShape model{.name = shape.text(),
                                .layers = shape.layers,
                                .hidden = shape.hidden,
                                .ffn = shape.ffn,
                                .heads = shape.heads,
                                .kv_heads = shape.kv_heads,
                                .vocab = shape.vocab};
  return transformer::llama_shape(model, 1 << 16);
}

// Blocks of a layer in an order, the first share of them, cut into segments.
std::vector<std::vector<BlockId>> cut(BlockId blocks, double share, int segments, Order how,
                                      RandomStream& random) {
  std::vector<BlockId> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); how == Order::random && i > 1; --i) {
    std::swap(order[i - 1], order[random.next_below(i)]);
  }
  order.resize(static_cast<std::size_t>(std::lround(share * blocks)));
  const auto count = static_cast<std::size_t>(segments);
  std::vector<std::vector<BlockId>> all;
  for (std::size_t s = 0; s < count; ++s) {
    const auto at = [&](std::size_t part) {
      return order.begin() + static_cast<std::ptrdiff_t>(order.size() * part / count);
    };
    if (at(s) != at(s + 1)) all.emplace_back(at(s), at(s + 1));
  }
  return all;
}

}  // namespace

// One run of commands on an accelerator of its own.
class AcceleratorRig::Drive {
 public:
  // The caller looks for answers without a pause, or sleeps in a storage.
  Drive(const AcceleratorRig& rig, Synchronisation synchronisation, TokenId tokens,
        hardware::Storage* sleeps_in = nullptr)
      : rig_(rig), sleeps_in_(sleeps_in) {
    auto spec = rig.spec(synchronisation, tokens);
    if (sleeps_in != nullptr) spec.wake = [sleeps_in] { sleeps_in->wake(); };
    accelerator_ = hardware::make_accelerator("cpu", spec);
  }

  void attention(LayerId layer, TokenId token, std::int32_t tokens) {
    timed(attention_, [&] { submit(CommandKind::attention, layer, token, tokens); });
  }

  void mlp(LayerId layer, TokenId token, std::int32_t tokens,
           const std::vector<std::vector<BlockId>>& segments) {
    std::vector<std::vector<SlotId>> slots;
    for (const auto& blocks : segments) {
      auto& places = slots.emplace_back();
      for (const BlockId b : blocks) places.push_back(layer * rig_.geometry_.blocks_per_layer + b);
    }
    timed(mlp_, [&] {
      submit(CommandKind::begin_layer, layer, token, tokens);
      for (std::size_t s = 0; s < segments.size(); ++s) {
        submit(CommandKind::release, layer, token, tokens, segments[s], slots[s]);
      }
      submit(CommandKind::end_layer, layer, token, tokens);
    });
  }

  void head(TokenId token) {
    timed(head_, [&] { submit(CommandKind::head, kNone, token, 1); });
  }

  // Opens and closes a layer after a pause; what that took besides its work.
  double round_trip_s(LayerId layer, TokenId token, TimeNs idle_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(idle_ns));
    Times one;
    timed(one, [&] {
      submit(CommandKind::begin_layer, layer, token, 1);
      submit(CommandKind::end_layer, layer, token, 1);
    });
    return std::max(0.0, one.wall_s[0] - one.work_s[0]);
  }

  void forget() { attention_ = mlp_ = head_ = {}; }
  PassTimes result() const { return {attention_.median(), mlp_.median(), head_.median()}; }

 private:
  struct Times {
    std::vector<double> wall_s, work_s;

    CommandTime median() const {
      return wall_s.empty() ? CommandTime{}
                            : CommandTime{leanstream::median(wall_s), leanstream::median(work_s)};
    }
  };

  void submit(CommandKind kind, LayerId layer, TokenId token, std::int32_t tokens,
              std::span<const BlockId> blocks = {}, std::span<const SlotId> slots = {}) {
    accelerator_->submit({.ticket = ++ticket_,
                          .kind = kind,
                          .layer = layer,
                          .token = token,
                          .tokens = tokens,
                          .blocks = blocks,
                          .slots = slots});
  }

  // From the first command to the seen end of the last.
  template <typename Submit>
  void timed(Times& times, const Submit& submit_all) {
    const TimeNs from_ns = hardware::steady_ns();
    TimeNs work_ns = 0;
    submit_all();
    for (TicketId last = 0; last < ticket_;) {
      if (sleeps_in_ != nullptr) sleeps_in_->wait(kNever);
      ended_.clear();
      accelerator_->poll(ended_);
      for (const hardware::Ended& ended : ended_) {
        LEANSTREAM_CHECK(!ended.failed, "ticket {} failed", ended.ticket);
        last = ended.ticket;
        work_ns += ended.work_ns;
      }
    }
    times.wall_s.push_back(seconds(hardware::steady_ns() - from_ns));
    times.work_s.push_back(seconds(work_ns));
  }

  const AcceleratorRig& rig_;
  hardware::Storage* sleeps_in_;
  std::unique_ptr<hardware::Accelerator> accelerator_;
  std::vector<hardware::Ended> ended_;
  TicketId ticket_ = 0;
  Times attention_, mlp_, head_;
};

AcceleratorRig::AcceleratorRig(const Shape& shape, int threads, std::span<const int> processors)
    : shape_(shape),
      threads_(threads),
      processors_(processors.begin(), processors.end()),
      decoder_(
          transformer::random_decoder(llama_shape(shape), transformer::TensorType::kQ8_0, kSeed)) {
  constexpr auto kF16 = transformer::TensorType::kF16;
  layout_ = {kF16, kF16, kF16, false, shape.hidden, shape.block_neurons};
  geometry_ = model::cut_into_blocks(shape.ffn, shape.block_neurons,
                                     static_cast<double>(layout_.bytes()), 512);
  arena_bytes_ = geometry_.block_bytes * static_cast<Bytes>(geometry_.blocks_per_layer) *
                 static_cast<Bytes>(shape.layers);
  arena_ = hardware::aligned_memory(arena_bytes_, kPageBytes);
  fill_arena();
}

// Layers are alike, but each has memory of its own.
void AcceleratorRig::fill_arena() {
  const auto source = transformer::random_blocks(layout_, shape_.ffn, kSeed);
  source->begin_layer(0);
  std::memset(arena_.get(), 0, arena_bytes_);
  for (BlockId b = 0; b < geometry_.blocks_per_layer; ++b) {
    std::vector<std::int32_t> neurons(static_cast<std::size_t>(geometry_.neurons(b)));
    std::iota(neurons.begin(), neurons.end(), geometry_.first_neuron(b));
    source->write(neurons, {arena_.get() + static_cast<Bytes>(b) * geometry_.block_bytes,
                            geometry_.block_bytes});
  }
  const Bytes layer_bytes = arena_bytes_ / static_cast<Bytes>(shape_.layers);
  for (Bytes l = 1; l < static_cast<Bytes>(shape_.layers); ++l) {
    std::memcpy(arena_.get() + l * layer_bytes, arena_.get(), layer_bytes);
  }
}

hardware::AcceleratorSpec AcceleratorRig::spec(Synchronisation synchronisation,
                                               TokenId tokens) const {
  hardware::AcceleratorSpec spec;
  spec.decoder = &decoder_;
  spec.layout = layout_;
  spec.geometry = geometry_;
  spec.arena = {arena_.get(), arena_bytes_};
  spec.synchronisation = synchronisation;
  spec.threads = threads_;
  spec.processors = processors_;
  spec.tokens = tokens;
  for (TokenId t = 0; t <= tokens; ++t) spec.feed.ids.push_back(t % shape_.vocab);
  return spec;
}

PassTimes AcceleratorRig::decode(Synchronisation synchronisation, int segments, double share,
                                 Order order, int layers, int seed) {
  const TokenId tokens = 1 + (layers + shape_.layers - 1) / shape_.layers;
  Drive drive(*this, synchronisation, tokens);
  RandomStream random(static_cast<std::uint64_t>(seed), "probe.blocks");
  for (TokenId t = 0; t < tokens; ++t) {
    for (LayerId l = 0; l < shape_.layers; ++l) {
      const auto blocks = cut(geometry_.blocks_per_layer, share, segments, order, random);
      drive.attention(l, t, 1);
      drive.mlp(l, t, 1, blocks);
    }
    drive.head(t);
    if (t == 0) drive.forget();  // the prompt: importance is computed too, memory is new
  }
  return drive.result();
}

PassTimes AcceleratorRig::prefill(std::int32_t tokens) {
  Drive drive(*this, Synchronisation::flags, tokens);
  RandomStream random(kSeed, "probe.blocks");
  for (LayerId l = 0; l < shape_.layers; ++l) {
    const auto blocks = cut(geometry_.blocks_per_layer, 1, 1, Order::random, random);
    drive.attention(l, 0, tokens);
    drive.mlp(l, 0, tokens, blocks);
  }
  return drive.result();
}

double AcceleratorRig::round_trip_s(hardware::Storage& storage, TimeNs idle_ns, int times) {
  const TokenId tokens = 1 + (times + shape_.layers - 1) / shape_.layers;
  Drive drive(*this, Synchronisation::device, tokens, &storage);
  std::vector<double> trips;
  for (TokenId t = 0; t < tokens; ++t) {
    for (LayerId l = 0; l < shape_.layers; ++l) {
      drive.attention(l, t, 1);
      trips.push_back(drive.round_trip_s(l, t, idle_ns));
    }
    drive.head(t);
  }
  return mean(trips);
}

}  // namespace leanstream::probe
