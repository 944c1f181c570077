// The parameters of a platform file.
#include "engine/platform/platform_file.h"
#include "engine/platform/power_table.h"

namespace leanstream::platform {
namespace {

using config::Dimension;
using config::integer;
using config::number;
using config::quantity;
using config::section;
using config::Table;

const Table<Flash>& flash_table() {
  static const Table<Flash> t{
      quantity("bandwidth", &Flash::bandwidth_bytes_per_s, Dimension::bandwidth,
               "what many large requests get together")
          .above(0)
          .required(),
      quantity("stream_bandwidth", &Flash::stream_bandwidth_bytes_per_s, Dimension::bandwidth,
               "what one request alone gets after its first byte")
          .above(0)
          .required(),
      quantity("requests", &Flash::requests_per_s, Dimension::rate,
               "requests served in a second, however small")
          .above(0)
          .required(),
      quantity("latency", &Flash::latency_ns, Dimension::time,
               "of one request until its first byte")
          .range(1, 1e9)
          .required(),
      integer("queue_depth", &Flash::queue_depth, "requests in service at once")
          .range(1, 65536)
          .required(),
      integer("queues", &Flash::queues,
              "that the I/O lanes share, each of that depth (UFS: 1); 0: each lane has one")
          .range(0, 65536),
      quantity("logical_block", &Flash::logical_block_bytes, Dimension::bytes,
               "reads start and end at multiples of it; a power of two")
          .range(512, 1 << 20)
          .required(),
      quantity("link_bandwidth", &Flash::link_bandwidth_bytes_per_s, Dimension::bandwidth,
               "of the PCIe or UFS lanes")
          .above(0)
          .required(),
      quantity("io_segment_overhead", &Flash::io_segment_overhead_ns, Dimension::time,
               "workers meeting between two I/O segments")
          .range(0, 1e9)
          .required(),
      quantity("request_overhead", &Flash::request_overhead_bytes, Dimension::bytes,
               "what a request costs the transfer besides its bytes")
          .range(0, 1 << 24),
      quantity("piece", &Flash::piece_bytes, Dimension::bytes,
               "the same for each further place in memory that a request fills")
          .range(0, 1 << 24),
      quantity("span", &Flash::span_bytes, Dimension::bytes,
               "bytes in flight that engage half of the bandwidth; 0: any engage all")
          .range(0, 0x1p40),
      integer("batch", &Flash::batch, "requests whose ends are told together, at most")
          .range(1, 65536),
      number("spread", &Flash::spread,
             "sigma of the log-normal factor of latency and transfer; its mean is 1")
          .range(0, 2),
      quantity("pause", &Flash::pause_ns, Dimension::time,
               "how long the device answers nobody, now and then; 0: it never does that")
          .range(0, 1e9),
      integer("pause_requests", &Flash::pause_requests,
              "mean number of requests between two pauses")
          .range(0, 1 << 30),
      quantity("merge", &Flash::merge_bytes, Dimension::bytes,
               "the system makes neighbours of a read one request, up to so many bytes; 0: never")
          .range(0, 1 << 30),
      quantity("merge_overhead", &Flash::merge_overhead_bytes, Dimension::bytes,
               "what each further request of them costs the transfer besides its bytes")
          .range(0, 1 << 24)};
  return t;
}

const Table<Memory>& memory_table() {
  static const Table<Memory> t{
      quantity("bandwidth", &Memory::bandwidth_bytes_per_s, Dimension::bandwidth,
               "what all users of the bus get together")
          .above(0)
          .required(),
      quantity("capacity", &Memory::capacity_bytes, Dimension::bytes, "memory of the device")
          .range(1 << 20, 0x1p50)
          .required()};
  return t;
}

const Table<Accelerator>& accelerator_table() {
  static const Table<Accelerator> t{
      quantity("bandwidth", &Accelerator::bandwidth_bytes_per_s, Dimension::bandwidth,
               "streaming attention and head weights, alone on the bus")
          .above(0)
          .required(),
      quantity("mlp_bandwidth", &Accelerator::mlp_bandwidth_bytes_per_s, Dimension::bandwidth,
               "an MLP over blocks, alone on the bus")
          .above(0)
          .required(),
      quantity("compute", &Accelerator::flops_per_s, Dimension::compute,
               "a multiply and an add count as two")
          .above(0)
          .required(),
      quantity("mlp_compute", &Accelerator::mlp_flops_per_s, Dimension::compute,
               "of MLPs over blocks, where they do not reach `compute`")
          .above(0),
      number(
          "block_operations", &Accelerator::block_operations,
          "a block costs each token as many operations more for each element of the hidden state")
          .range(0, 1e6),
      quantity("flags_segment", &Accelerator::flags_segment_ns, Dimension::time,
               "cost of an MLP segment released by flags inside a running kernel")
          .range(0, 1e9)
          .required(),
      quantity("polling_segment", &Accelerator::polling_segment_ns, Dimension::time,
               "cost of an MLP segment whose end the host polls")
          .range(0, 1e9)
          .required(),
      quantity("device_segment", &Accelerator::device_segment_ns, Dimension::time,
               "cost of an MLP segment with a launch and a device-wide wait")
          .range(0, 1e9)
          .required(),
      quantity("jump", &Accelerator::jump_ns, Dimension::time,
               "of each block that does not lie behind the one before in memory")
          .range(0, 1e9),
      quantity("jump_vectors", &Accelerator::jump_vector_bytes, Dimension::bytes,
               "such a block costs as many bytes more for each element of the hidden state")
          .range(0, 1e6),
      quantity("row", &Accelerator::row_ns, Dimension::time,
               "of each row of attention and head weights, besides its bytes")
          .range(0, 1e9),
      quantity("attention_head", &Accelerator::attention_head_ns, Dimension::time,
               "of each query head of an attention")
          .range(0, 1e9),
      quantity("command", &Accelerator::command_ns, Dimension::time,
               "of an attention or a head, besides its bytes and operations")
          .range(0, 1e9),
      quantity("start", &Accelerator::start_ns, Dimension::time,
               "from a command to an idle accelerator until it begins; one that polls begins at "
               "once")
          .range(0, 1e9)};
  return t;
}

const Table<Cpu>& cpu_table() {
  static const Table<Cpu> t{
      integer("cores", &Cpu::cores, "cores of the CPU").range(1, 4096).required(),
      quantity("bandwidth", &Cpu::bandwidth_bytes_per_s, Dimension::bandwidth,
               "what one core can draw from the bus")
          .above(0)
          .required(),
      quantity("read_request", &Cpu::read_request_ns, Dimension::time,
               "of all cores: one device read, from its submission to its completion")
          .range(0, 1e9),
      quantity("wake_up", &Cpu::wake_up_ns, Dimension::time,
               "from an event until the thread that slept for it runs")
          .range(0, 1e9),
      quantity("hand_over", &Cpu::hand_over_ns, Dimension::time,
               "from a thread to another one as it goes to sleep itself: to predictions and back")
          .range(0, 1e9),
      quantity("step", &Cpu::step_ns, Dimension::time,
               "the scheduler's own, from answers seen to commands handed over")
          .range(0, 1e9)};
  return t;
}

const Table<PredictorCost>& predictor_table() {
  static const Table<PredictorCost> t{
      quantity("time", &PredictorCost::time_ns, Dimension::time, "one prediction for one layer")
          .range(1, 1e10)
          .required(),
      quantity("memory", &PredictorCost::bytes, Dimension::bytes, "of all layers")
          .range(1, 0x1p50)
          .required(),
      integer("hidden", &PredictorCost::hidden, "of the model it was measured with")
          .range(1, 1 << 20)
          .required(),
      integer("ffn", &PredictorCost::ffn, "of the model it was measured with")
          .range(1, 1 << 24)
          .required(),
      integer("layers", &PredictorCost::layers, "of the model it was measured with")
          .range(1, 4096)
          .required()};
  return t;
}

const Table<Predictors>& predictors_table() {
  static const Table<Predictors> t{section("stacked_hash", &Predictors::stacked_hash,
                                           predictor_table(), "stacked learnable hashing"),
                                   section("low_rank_mlp", &Predictors::low_rank_mlp,
                                           predictor_table(), "a low-rank MLP for each layer")};
  return t;
}

const Table<Calibration>& calibration_table() {
  static const Table<Calibration> t{
      config::text("date", &Calibration::date, "when it ended, UTC").required(),
      config::text("machine", &Calibration::machine, "on what").required(),
      config::text("files", &Calibration::files, "what was read").required(),
      config::list("read_sizes", &Calibration::read_sizes,
                   "bytes of the reads that the flash was fitted to")
          .range(1, 0x1p40)
          .required(),
      config::list("shapes", &Calibration::shapes,
                   "hidden x ffn of what the accelerator was fitted to")
          .required()};
  return t;
}

}  // namespace

const Table<Platform>& table() {
  static const Table<Platform> t{
      config::text("description", &Platform::description, "the device in a sentence").required(),
      section("flash", &Platform::flash, flash_table(), "the storage"),
      section("memory", &Platform::memory, memory_table(), "the memory bus"),
      section("accelerator", &Platform::accelerator, accelerator_table(), "the GPU"),
      section("cpu", &Platform::cpu, cpu_table(), "the processor"),
      section("predictors", &Platform::predictors, predictors_table(),
              "what predictions cost, at a reference shape; scaled by hidden · ffn"),
      section("energy", &Platform::energy, energy_table(), "what the units draw"),
      section("thermal", &Platform::thermal, thermal_table(), "how the units warm and throttle"),
      section(kCalibration, &Platform::calibration, calibration_table(),
              "what was measured for this file; plain values")};
  return t;
}

}  // namespace leanstream::platform
