#include "engine/hardware/world.h"

#include <algorithm>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/hardware/accelerator/faulty_accelerator.h"
#include "engine/hardware/accelerator/registry.h"
#include "engine/hardware/storage/faulty_storage.h"
#include "engine/platform/platform.h"
#include "engine/transformer/image_layout.h"

namespace leanstream::hardware {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

constexpr TimeNs kLookNs = 50'000;       // more than a request in a queue takes
constexpr Bytes kPageBytes = 1U << 21U;  // the arena may lie in large pages

// Resident bytes of this process.
Bytes resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  Bytes size = 0;
  Bytes resident = 0;
  statm >> size >> resident;
  return resident * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
}

void check_image(const model::FlashImage& image, const backend::WorldSpec& spec) {
  const auto& a = image.info().shape;
  const auto& b = spec.shape;
  if (a.layers != b.layers || a.hidden != b.hidden || a.ffn != b.ffn) {
    throw UserError("{}: the image is of {} ({} layers, hidden {}, ffn {}), not of {} ({}, {}, {})",
                    image.path(), a.name, a.layers, a.hidden, a.ffn, b.name, b.layers, b.hidden,
                    b.ffn);
  }
  const auto& g = image.info().geometry;
  if (g.block_neurons != spec.geometry.block_neurons) {
    throw UserError("{}: its blocks have {} neurons, those of the run {} (block_neurons)",
                    image.path(), g.block_neurons, spec.geometry.block_neurons);
  }
  if (g.block_bytes != spec.geometry.block_bytes) {
    throw UserError(
        "{}: its blocks have {} bytes ({} of weights in units of {}), those of the run {}: state "
        "bytes_per_weight: {:.6g}, and a platform with flash: {{logical_block: {} B}}",
        image.path(), g.block_bytes, g.useful_block_bytes, image.info().logical_block_bytes,
        spec.geometry.block_bytes, image.info().shape.bytes_per_weight,
        image.info().logical_block_bytes);
  }
  for (LayerId l = 0; l < b.layers; ++l) {
    const auto order =
        spec.placement == nullptr ? std::span<const std::int32_t>{} : spec.placement->order(l);
    const auto on_flash = image.info().order(l);
    if (!std::equal(order.begin(), order.end(), on_flash.begin(), on_flash.end())) {
      throw UserError("{}: its neurons lie by placement {} ({}), those of the run otherwise",
                      image.path(), image.info().placement, image.info().placement_source);
    }
  }
}

transformer::LlamaShape llama_shape(const model::ModelShape& shape, TokenId tokens) {
  transformer::LlamaShape llama;
  llama.layers = shape.layers;
  llama.hidden = shape.hidden;
  llama.ffn = shape.ffn;
  llama.heads = shape.heads;
  llama.kv_heads = shape.kv_heads;
  llama.head_size = llama.rope_size = shape.head_dim();
  llama.vocab = shape.vocab;
  llama.context = tokens;
  llama.rope_base = 10'000;
  llama.norm_epsilon = 1e-5;
  return llama;
}

transformer::Decoder make_decoder(const backend::WorldSpec& spec) {
  const std::string& weights = spec.hardware->weights;
  if (weights.empty()) {
    return transformer::random_decoder(llama_shape(spec.shape, spec.tokens),
                                       transformer::TensorType::kQ8_0, spec.seed);
  }
  const transformer::GgufFile file(weights);  // closed when the parts are copied
  transformer::Decoder decoder = transformer::read_decoder(file);
  const auto& shape = decoder.shape;
  if (shape.layers != spec.shape.layers || shape.hidden != spec.shape.hidden ||
      shape.ffn != spec.shape.ffn) {
    throw UserError("{}: {} layers, hidden {}, ffn {}; the run is of {} ({}, {}, {})", weights,
                    shape.layers, shape.hidden, shape.ffn, spec.shape.name, spec.shape.layers,
                    spec.shape.hidden, spec.shape.ffn);
  }
  if (spec.tokens > shape.context) {
    throw UserError("{}: made for {} tokens, not {}", weights, shape.context, spec.tokens);
  }
  return decoder;
}

const backend::WorldSpec& checked(const backend::WorldSpec& spec) {
  if (spec.hardware == nullptr || spec.hardware->image.empty()) {
    throw UserError(
        "--backend=hardware reads a flash image: make one with 'leanstream pack' and name it in "
        "the experiment (hardware: {{image: FILE}})");
  }
  return spec;
}

}  // namespace

World::World(const backend::WorldSpec& spec)
    : spec_(checked(spec)),
      resident_before_bytes_(resident_bytes()),
      image_(spec.hardware->image),
      decoder_(make_decoder(spec)),
      arena_bytes_(static_cast<Bytes>(spec.slots) * spec.geometry.block_bytes) {
  check_image(image_, spec);
  arena_ = aligned_memory(arena_bytes_, kPageBytes);
  open_storage();
  start_accelerator();
  predictions_ = std::make_unique<PredictionUnit>(spec_, [this] { storage_->wake(); });
  // On a machine without a processor to spare, looking keeps the accelerator from working.
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  look_ns_ = spec_.hardware->threads < processors ? kLookNs : 0;
}

World::~World() {
  predictions_.reset();
  accelerator_.reset();
  reader_.reset();
  storage_.reset();
}

void World::open_storage() {
  storage_ = hardware::open_storage({.path = image_.path(),
                                     .engine = spec_.hardware->storage,
                                     .lanes = spec_.io_lanes,
                                     .depth = spec_.queue_depth,
                                     .arena = {arena_.get(), arena_bytes_}});
  const Bytes unit = storage_->alignment_bytes();
  if (spec_.geometry.block_bytes % unit != 0) {
    throw UserError(
        "{}: blocks of {} bytes on a device that reads in units of {}; pack it with "
        "--logical-block {}",
        image_.path(), spec_.geometry.block_bytes, unit, unit);
  }
  if (spec_.faults.any()) {
    storage_ = with_faults(std::move(storage_),
                           {.plan = spec_.faults,
                            .seed = spec_.seed,
                            .block_bytes = spec_.geometry.block_bytes,
                            .bandwidth_bytes_per_s = spec_.platform->flash.bandwidth_bytes_per_s,
                            .now = [this] { return now(); }});
  }
  if (spec_.hardware->check_on_read) {
    for (LayerId l = 0; l < spec_.shape.layers; ++l) {
      for (BlockId b = 0; b < spec_.geometry.blocks_per_layer; ++b) {
        checksums_.push_back(image_.checksum(l, b));
      }
    }
  }
  reader_ = std::make_unique<FlashReader>(
      FlashReaderSpec{.storage = storage_.get(),
                      .data_offset = image_.data_offset(),
                      .block_bytes = spec_.geometry.block_bytes,
                      .blocks_per_layer = spec_.geometry.blocks_per_layer,
                      .arena = {arena_.get(), arena_bytes_},
                      .checksums = checksums_});
}

void World::start_accelerator() {
  AcceleratorSpec spec;
  spec.decoder = &decoder_;
  spec.layout = transformer::image_layout(image_);
  spec.geometry = spec_.geometry;
  spec.order = [this](LayerId l) { return image_.info().order(l); };
  spec.arena = {arena_.get(), arena_bytes_};
  spec.synchronisation = spec_.synchronisation;
  spec.threads = spec_.hardware->threads;
  spec.tokens = spec_.tokens;
  spec.feed.ids.assign(spec_.token_ids.begin(), spec_.token_ids.end());
  spec.feed.seed = spec_.seed;
  for (const std::int32_t id : spec.feed.ids) {
    if (id < 0 || id >= decoder_.shape.vocab) {
      throw UserError("token id {} is none of the model's {}", id, decoder_.shape.vocab);
    }
  }
  spec.wake = [this] { storage_->wake(); };
  accelerator_ = make_accelerator(spec_.hardware->accelerator, spec);
  if (spec_.faults.accelerator_dies_ns != kNever) {
    accelerator_ = std::make_unique<FaultyAccelerator>(std::move(accelerator_), spec_.faults,
                                                       [this] { return now(); });
  }
}

// The run starts when it is first asked for its time.
TimeNs World::now() {
  if (start_ == Clock::time_point{}) {
    start_ = Clock::now();
    return 0;
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
}

void World::submit(std::span<const Command> commands) {
  for (const Command& command : commands) {
    switch (command.kind) {
      case CommandKind::read:
      case CommandKind::cancel:
        reader_->submit(command);
        break;
      case CommandKind::predict:
        predictions_->submit(command);
        break;
      default:
        accelerator_->submit(command);
    }
  }
  reader_->flush();
}

void World::collect() {
  flash_ended_.clear();
  reader_->poll(flash_ended_);
  for (const FlashEnded& e : flash_ended_) {
    batch_.push_back({.ticket = e.ticket,
                      .status = e.status,
                      .not_read = e.not_read,
                      .request_ns = e.request_ns});
  }
  ended_.clear();
  accelerator_->poll(ended_);
  for (const Ended& e : ended_) {
    batch_.push_back({.ticket = e.ticket,
                      .status = e.failed ? Status::failed : Status::ok,
                      .work_ns = e.work_ns,
                      .sampled = e.sampled});
  }
  Completion prediction;
  if (predictions_->poll(prediction.ticket, prediction.scores)) batch_.push_back(prediction);
}

std::span<const Completion> World::wait(TimeNs deadline) {
  batch_.clear();
  const TimeNs entered = now();
  for (TimeNs at = entered;; at = now()) {
    collect();
    if (batch_.empty() && at >= deadline) batch_.push_back({.status = Status::timed_out});
    if (!batch_.empty()) break;
    if (at - entered >= look_ns_) storage_->wait(deadline == kNever ? kNever : deadline - at);
  }
  last_ns_ = std::max(now(), last_ns_ + 1);
  for (Completion& c : batch_) c.time_ns = last_ns_;
  return batch_;
}

std::vector<std::pair<std::string, std::string>> World::facts() const {
  std::vector<std::pair<std::string, std::string>> facts{
      {"storage", storage_->description()},
      {"accelerator",
       fmt::format("{}, {} threads", spec_.hardware->accelerator, spec_.hardware->threads)}};
  const auto bytes = [&](const std::string& part, Bytes value) {
    facts.emplace_back("memory_bytes_" + part, std::to_string(value));
  };
  Bytes all = 0;
  std::vector<std::pair<std::string, Bytes>> parts{{"cache", arena_bytes_},
                                                   {"resident", decoder_.bytes()},
                                                   {"predictor", predictions_->bytes()}};
  for (const auto& part : accelerator_->memory()) parts.push_back(part);
  for (const auto& [name, value] : parts) {
    bytes(name, value);
    all += value;
  }
  bytes("stated", all);
  bytes("process_growth", resident_bytes() - std::min(resident_bytes(), resident_before_bytes_));
  const FlashCounts& counts = reader_->counts();
  for (const auto& [name, count] :
       {std::pair{"read_errors", counts.errors}, std::pair{"short_reads", counts.short_reads},
        std::pair{"read_retries", counts.retries},
        std::pair{"checksum_failures", counts.checksum_failures}}) {
    facts.emplace_back(name, std::to_string(count));
  }
  return facts;
}

namespace {

[[maybe_unused]] const bool kRegistered = backend::register_world(
    "hardware", "real devices: a flash image is read, and what is read is multiplied",
    [](const backend::WorldSpec& spec) -> std::unique_ptr<backend::Backend> {
      return std::make_unique<World>(spec);
    });

}  // namespace

}  // namespace leanstream::hardware
