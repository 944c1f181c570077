// A device whose units draw and warm in round numbers.
#pragma once

#include "engine/backend/world.h"
#include "engine/platform/platform.h"

namespace leanstream::energy {

inline platform::Platform round_platform() {
  platform::Platform p;
  p.name = "round";
  p.cpu = {.cores = 4, .bandwidth_bytes_per_s = 10e9, .read_request_ns = 2'000};
  p.energy = platform::Energy{.board_w = 2,
                              .accelerator = {.idle_w = 1, .active_w = 11, .polling_w = 4},
                              .cpu = {.idle_w = 0.5, .core_w = 1.5},
                              .flash = {.idle_w = 0.25, .active_w = 3.25, .j_per_byte = 1e-9},
                              .memory = {.idle_w = 0.75, .j_per_byte = 4e-11}};
  const platform::ThermalUnit unit{.resistance_k_per_w = 4,
                                   .capacity_j_per_k = 5,
                                   .limit_c = 60,
                                   .hysteresis_k = 10,
                                   .throttled_rate = 0.5,
                                   .throttled_power = 0.25};
  p.thermal = platform::Thermal{.ambient_c = 20, .accelerator = unit, .cpu = unit, .flash = unit};
  return p;
}

// Bundles of 6,000 bytes in blocks of two, 12,288 with their padding; attention takes 8,000,000
// bytes of weights and 4,000 for each position.
inline backend::WorldSpec spec_for(const platform::Platform& platform) {
  backend::WorldSpec spec;
  spec.platform = &platform;
  spec.shape = {.name = "round",
                .layers = 2,
                .hidden = 1000,
                .ffn = 4000,
                .heads = 10,
                .kv_heads = 10,
                .vocab = 5000};
  spec.geometry = {.block_neurons = 2,
                   .blocks_per_layer = 2000,
                   .block_bytes = 12'288,
                   .useful_block_bytes = 12'000,
                   .ffn = 4000};
  spec.prediction = {.time_ns = 100'000, .bytes = 1'000'000};
  return spec;
}

}  // namespace leanstream::energy
