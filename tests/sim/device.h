// A device with round numbers, and commands for it.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/backend/world.h"
#include "engine/platform/platform.h"
#include "sim/world.h"

namespace leanstream::sim {

inline platform::Platform round_device() {
  platform::Platform p;
  p.name = "round";
  p.flash = {.bandwidth_bytes_per_s = 7e9,
             .stream_bandwidth_bytes_per_s = 1.75e9,
             .requests_per_s = 500e3,
             .latency_ns = 80'000,
             .queue_depth = 32,
             .logical_block_bytes = 4096,
             .link_bandwidth_bytes_per_s = 16e9,
             .io_segment_overhead_ns = 5'000};
  p.memory = {.bandwidth_bytes_per_s = 50e9, .capacity_bytes = 1'000'000'000};
  p.accelerator = {.bandwidth_bytes_per_s = 50e9,
                   .mlp_bandwidth_bytes_per_s = 40e9,
                   .flops_per_s = 10e12,
                   .flags_segment_ns = 1'000,
                   .polling_segment_ns = 5'000,
                   .device_segment_ns = 20'000};
  p.cpu = {.cores = 4, .bandwidth_bytes_per_s = 10e9};
  return p;
}

// Codes that tell which prediction they belong to.
class Stamp final : public policy::Predictor {
 public:
  void predict(TokenId token, LayerId layer, std::int32_t feature,
               std::span<std::uint8_t> codes) const override {
    const auto code = static_cast<std::uint8_t>(100 * token + 10 * layer + feature);
    std::fill(codes.begin(), codes.end(), code);
  }
};

// Bundles of 6,000 bytes; blocks of two are padded from 12,000 to 12,288 bytes.
struct Device {
  platform::Platform platform = round_device();
  Stamp predictor;
  backend::WorldSpec spec;

  Device() {
    spec.platform = &platform;  // a copy needs its own: see FlashRun
    spec.shape = {.name = "round",
                  .layers = 2,
                  .hidden = 1000,
                  .ffn = 4000,
                  .heads = 10,
                  .kv_heads = 10,
                  .vocab = 5000};
    set_blocks(12'288);
    spec.prediction = {.time_ns = 100'000, .bytes = 1'000'000};
    spec.predictor = &predictor;
  }

  void set_blocks(Bytes bytes) {
    spec.geometry = {.block_neurons = 2,
                     .blocks_per_layer = 2000,
                     .block_bytes = bytes,
                     .useful_block_bytes = 12'000,
                     .ffn = 4000};
  }
};

// Builds commands and keeps the blocks that they name.
class Commands {
 public:
  scheduler::Command make(scheduler::CommandKind kind) {
    scheduler::Command command;
    command.ticket = ++last_;
    command.kind = kind;
    command.layer = 0;
    return command;
  }

  scheduler::Command with_blocks(scheduler::CommandKind kind, std::vector<BlockId> blocks) {
    auto command = make(kind);
    owned_.push_back(std::make_unique<std::vector<BlockId>>(std::move(blocks)));
    command.blocks = *owned_.back();
    return command;
  }

  // `count` blocks that are no neighbours: one request each.
  scheduler::Command read(std::int32_t count, std::int32_t lane = 0) {
    std::vector<BlockId> blocks;
    for (std::int32_t i = 0; i < count; ++i) blocks.push_back(2 * (i % 1000));
    auto command = with_blocks(scheduler::CommandKind::read, std::move(blocks));
    command.lane = lane;
    return command;
  }

  // A segment of `count` blocks.
  scheduler::Command release(std::int32_t count) {
    std::vector<BlockId> blocks(static_cast<std::size_t>(count));
    std::iota(blocks.begin(), blocks.end(), 0);
    return with_blocks(scheduler::CommandKind::release, std::move(blocks));
  }

 private:
  TicketId last_ = 0;
  std::vector<std::unique_ptr<std::vector<BlockId>>> owned_;
};

// Waits for `count` tickets and gives each one's completion, by ticket.
inline std::map<TicketId, scheduler::Completion> drain(World& world, std::size_t count) {
  std::map<TicketId, scheduler::Completion> out;
  while (out.size() < count) {
    for (const auto& completion : world.wait(kNever)) {
      if (!out.emplace(completion.ticket, completion).second) return {};  // twice
    }
  }
  return out;
}

}  // namespace leanstream::sim
