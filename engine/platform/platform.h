// What a device can do. Every value comes from a platform file that states its source.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::platform {

// One request of s bytes, alone: latency + s ÷ stream_bandwidth. Many: at most `bandwidth` bytes,
// `requests_per_s` requests a second, `queue_depth` requests in service. The last nine refine
// that; their defaults change nothing. flash_model.h says how they act.
struct Flash {
  double bandwidth_bytes_per_s = 0;
  double stream_bandwidth_bytes_per_s = 0;
  double requests_per_s = 0;
  TimeNs latency_ns = 0;
  std::int32_t queue_depth = 0;
  std::int32_t queues = 0;  // that I/O lanes share; 0: each lane has one
  Bytes logical_block_bytes = 0;
  double link_bandwidth_bytes_per_s = 0;  // PCIe or UFS lanes
  TimeNs io_segment_overhead_ns = 0;      // workers meeting at the barrier between two I/O parts
  Bytes request_overhead_bytes = 0;       // what a request costs the transfer besides its bytes
  Bytes span_bytes = 0;                   // in flight, at which half of the bandwidth is engaged
  std::int32_t batch = 1;                 // requests whose ends are told together, at most
  double spread = 0;                      // σ of the log-normal factor of latency and transfer
  Bytes piece_bytes = 0;                  // the same for each further place in memory that it fills
  TimeNs pause_ns = 0;                    // how long it answers nobody, now and then
  std::int32_t pause_requests = 0;        // so many requests lie between, on average
  Bytes merge_bytes = 0;                  // neighbours of a read are one request, up to so many
  Bytes merge_overhead_bytes = 0;         // what each of them but the first costs the transfer

  // Requests in service for each of so many lanes when all are busy.
  std::int32_t lane_depth(std::int32_t lanes) const {
    if (queues == 0 || lanes <= queues) return queue_depth;
    return std::max(1, queue_depth * queues / lanes);
  }
};

struct Memory {
  double bandwidth_bytes_per_s = 0;  // what all users of the bus get together
  Bytes capacity_bytes = 0;
};

// A roofline: a command takes max(bytes ÷ bandwidth + pieces, operations ÷ flops) plus what its
// synchronisation costs (sim/roofline.h); pieces are jumps, rows and heads.
struct Accelerator {
  double bandwidth_bytes_per_s = 0;      // streaming attention and head weights, alone on the bus
  double mlp_bandwidth_bytes_per_s = 0;  // an MLP over blocks of the arena, alone on the bus
  double flops_per_s = 0;                // multiply and add count as two
  std::optional<double> mlp_flops_per_s{};  // of MLPs, where they are slower
  double block_operations = 0;              // per block, token and element of hidden, more
  TimeNs flags_segment_ns = 0;              // per MLP segment, flags inside a running kernel
  TimeNs polling_segment_ns = 0;            // per MLP segment, the host polls
  TimeNs device_segment_ns = 0;             // per MLP segment, a launch and a device-wide wait
  TimeNs jump_ns = 0;                       // per block that does not follow the one before
  double jump_vector_bytes = 0;             // and as many bytes for each element of hidden
  TimeNs row_ns = 0;                        // per row of attention and head weights
  TimeNs attention_head_ns = 0;             // per query head of an attention
  TimeNs command_ns = 0;                    // per attention or head, besides bytes and operations
  TimeNs start_ns = 0;                      // from a command to an idle accelerator until it begins
};

struct Cpu {
  std::int32_t cores = 0;
  double bandwidth_bytes_per_s = 0;  // what one core can draw from the bus
  // Of all cores: one device read, from its submission to its completion.
  std::optional<TimeNs> read_request_ns{};
  TimeNs wake_up_ns = 0;    // from an event until the thread that slept for it runs
  TimeNs hand_over_ns = 0;  // the same where another thread of this processor was just at work
  TimeNs step_ns = 0;       // the scheduler's own, from answers seen to commands handed over
};

// What one prediction costs, measured at a reference shape and scaled by hidden · ffn.
struct PredictorCost {
  TimeNs time_ns = 0;  // one layer
  Bytes bytes = 0;     // all layers
  std::int32_t hidden = 0;
  std::int32_t ffn = 0;
  std::int32_t layers = 0;
};

struct Predictors {
  PredictorCost stacked_hash;
  PredictorCost low_rank_mlp;
};

// Watts include what the unit draws idle. Heat of a unit is its own power alone.
struct AcceleratorPower {
  double idle_w = 0;
  double active_w = 0;   // at work
  double polling_w = 0;  // a kernel waits in it for blocks (synchronisation by flags)
};
struct CpuPower {
  double idle_w = 0;  // all cores asleep
  double core_w = 0;  // more for each core at work, predicting or spinning
};
struct FlashPower {
  double idle_w = 0;
  double active_w = 0;  // at least one read in flight
  double j_per_byte = 0;
};
struct MemoryPower {
  double idle_w = 0;
  double j_per_byte = 0;
};
struct Energy {
  double board_w = 0;  // what belongs to no unit, all the time
  AcceleratorPower accelerator;
  CpuPower cpu;
  FlashPower flash;
  MemoryPower memory;
};

// T of a unit tends to ambient + power · resistance with the time constant resistance · capacity.
// Its frequency has `steps` + 1 values: it goes one down at the limit, as the governor step_wise of
// Linux does, and one up where it is hysteresis_k cooler. Speed and power fall in equal parts.
struct ThermalUnit {
  double resistance_k_per_w = 0;
  double capacity_j_per_k = 0;
  double limit_c = 0;
  double hysteresis_k = 0;
  double throttled_rate = 1;   // of its speed, left at the lowest frequency
  double throttled_power = 1;  // of what activity adds to its idle power, left there
  std::int32_t steps = 1;

  // At the frequency so many steps below the highest.
  double rate(std::int32_t step) const { return left(throttled_rate, step); }
  double power(std::int32_t step) const { return left(throttled_power, step); }

 private:
  double left(double least, std::int32_t step) const {
    return step == steps ? least : 1 - (1 - least) * step / steps;
  }
};
struct Thermal {
  double ambient_c = 0;
  TimeNs period_ns = 0;  // between two looks of the governor
  ThermalUnit accelerator;
  ThermalUnit cpu;
  ThermalUnit flash;
};

// What was measured for the file, so that nobody validates it by the same again.
struct Calibration {
  std::string date;                 // UTC
  std::string machine;              // processor, memory, disk, kernel
  std::string files;                // that were read
  std::vector<Bytes> read_sizes;    // of the reads that the flash was fitted to
  std::vector<std::string> shapes;  // "hidden x ffn" of what the accelerator was fitted to
};

struct Platform {
  std::string name;
  std::string description;
  Flash flash;
  Memory memory;
  Accelerator accelerator;
  Cpu cpu;
  Predictors predictors;
  std::optional<Energy> energy;            // absent: energy is unknown, and so is heat
  std::optional<Thermal> thermal;          // absent: temperatures are unknown, nothing throttles
  std::optional<Calibration> calibration;  // of a file that `leanstream calibrate` measured
};

}  // namespace leanstream::platform
