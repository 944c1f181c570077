#include "engine/hardware/world.h"

#include <algorithm>
#include <thread>

#include "engine/base/check.h"
#include "engine/hardware/accelerator/faulty_accelerator.h"
#include "engine/hardware/accelerator/registry.h"
#include "engine/hardware/run_check.h"
#include "engine/hardware/storage/bare_loop.h"
#include "engine/hardware/storage/faulty_storage.h"
#include "engine/platform/platform.h"
#include "engine/transformer/image_layout.h"

namespace leanstream::hardware {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

constexpr Bytes kPageBytes = 4096;

}  // namespace

World::World(const backend::WorldSpec& spec, const OpenStorage& open)
    : spec_(spec),
      image_(checked_image(spec)),
      decoder_(make_decoder(spec)),
      arena_bytes_(static_cast<Bytes>(spec.slots) * spec.geometry.block_bytes),
      arena_(aligned_memory(arena_bytes_, kPageBytes)),
      processors_(processors_for(image_.path(), spec.hardware->threads,
                                 spec.hardware->processors == backend::KeepApart::automatic)) {
  start_storage(open);
  start_accelerator();
  predictions_ =
      std::make_unique<PredictionUnit>(spec_, processors_.predictor, [this] { storage_->wake(); });
  // On a machine without a processor to spare, looking keeps the accelerator from working.
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  look_ns_ = spec_.hardware->threads < processors ? backend::kLookNs : 0;
}

World::~World() {
  kept_.reset();
  predictions_.reset();
  accelerator_.reset();
  reader_.reset();
  storage_.reset();
}

void World::start_storage(const OpenStorage& open) {
  storage_ = open({.path = image_.path(),
                   .engine = spec_.hardware->storage,
                   .lanes = spec_.io_lanes,
                   .depth = spec_.queue_depth,
                   .arena = {arena_.get(), arena_bytes_}});
  check_alignment(image_, storage_->alignment_bytes());
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
  spec.processors = processors_.accelerator;
  spec.tokens = spec_.tokens;
  spec.feed.ids.assign(spec_.token_ids.begin(), spec_.token_ids.end());
  spec.feed.sampling = {spec_.sampling.temperature, spec_.sampling.top_k, spec_.sampling.top_p};
  spec.feed.seed = spec_.seed;
  spec.keep_nll = spec_.keep_nll;
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
    kept_.emplace(processors_.scheduler);
    cpu_before_s_ = thread_cpu_s();
    start_ = Clock::now();
    return 0;
  }
  const Clock::duration since = Clock::now() - start_ - stood_still_;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

template <typename Work>
void World::outside_time(const Work& work) {
  const Clock::time_point from = Clock::now();
  work();
  stood_still_ += Clock::now() - from;
}

void World::submit(std::span<const Command> commands) {
  for (const Command& command : commands) {
    switch (command.kind) {
      case CommandKind::read:
      case CommandKind::cancel:
        reader_->submit(command);
        break;
      case CommandKind::predict:
        if (spec_.observer == nullptr) {
          predictions_->submit(command);
        } else {
          outside_time([&] { predictions_->submit(command); });
        }
        predicting_ = true;
        break;
      default:
        computing_.push_back(command);
        accelerator_->submit(command);
        if (command.kind != CommandKind::release && command.kind != CommandKind::begin_layer) {
          awaited_ = command.ticket;
        }
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
  // A unit without work is not looked at: what it writes is in another processor's cache.
  ended_.clear();
  if (!computing_.empty()) accelerator_->poll(ended_);
  for (const Ended& e : ended_) {
    ended_ticket_ = e.ticket;
    add(e);
  }
  Completion prediction;
  if (predicting_ && predictions_->poll(prediction.ticket, prediction.scores)) {
    predicting_ = false;
    batch_.push_back(prediction);
  }
}

// A unit that waits for its next command is worth a processor; a queue of reads or releases is not:
// there is always something under way that keeps the device busy. What is behind several releases
// does not end as soon as one would look.
bool World::looks() const {
  // Who looks on the processor that predictions are made on keeps them from it.
  const bool shared = processors_.apart() && processors_.predictor == processors_.scheduler;
  if (predicting_ && shared) return false;
  return predicting_ || (awaited_ > ended_ticket_ && computing_.size() <= 2);
}

// Nothing is under way but the opening of a layer, of whose end nobody is told.
bool World::only_opens() const {
  return computing_.size() == 1 && computing_[0].kind == CommandKind::begin_layer && !predicting_ &&
         reader_->idle();
}

// Of the accelerator.
void World::add(const Ended& e) {
  LEANSTREAM_CHECK(!computing_.empty() && computing_.front().ticket == e.ticket,
                   "ticket {} has ended out of turn", e.ticket);
  const Command command = computing_.front();
  computing_.pop_front();
  Completion& c = batch_.emplace_back();
  c.ticket = e.ticket;
  c.status = e.failed ? Status::failed : Status::ok;
  c.work_ns = e.work_ns;
  c.sampled = e.sampled;
  if (e.failed) return;
  if (command.kind == CommandKind::head) {
    c.nll = accelerator_->nll().subspan(nll_given_);
    nll_given_ += c.nll.size();
  }
  if (spec_.observer == nullptr) return;
  outside_time([&] {
    c.scores = spec_.observer->ended(command, {e.residual, e.importance, e.sampled});
  });
}

std::span<const Completion> World::wait(TimeNs deadline) {
  batch_.clear();
  collect();
  // Handing over the new reads and sleeping are one call, unless there is an answer already.
  if (!batch_.empty()) storage_->wait(0);
  TimeNs at = now();
  const TimeNs entered = at;
  for (; batch_.empty(); at = now()) {
    const TimeNs left = deadline == kNever ? kNever : std::max<TimeNs>(deadline - at, 0);
    const bool stays_awake = (looks() && at - entered < look_ns_) || only_opens();
    storage_->wait(stays_awake ? 0 : left);
    collect();
    if (batch_.empty() && left == 0) batch_.push_back({.status = Status::timed_out});
  }
  last_ns_ = std::max(at, last_ns_ + 1);
  for (Completion& c : batch_) c.time_ns = last_ns_;
  return batch_;
}

World::Facts World::gather_facts() const {
  Facts facts{{"storage", storage_->description()},
              {"accelerator",
               fmt::format("{}, {} threads", spec_.hardware->accelerator, spec_.hardware->threads)},
              {"processors", processors_.text()}};
  const auto bytes = [&](const std::string& part, Bytes value) {
    facts.emplace_back("memory_bytes_" + part, std::to_string(value));
  };
  Bytes all = 0;
  const Bytes header =
      image_.header_bytes_in_memory() + checksums_.capacity() * sizeof(std::uint64_t);
  const Bytes storage = storage_->memory_bytes() + reader_->memory_bytes();
  std::vector<std::pair<std::string, Bytes>> parts{{"cache", arena_bytes_},
                                                   {"resident", decoder_.bytes()},
                                                   {"predictor", predictions_->bytes()},
                                                   {"image_header", header},
                                                   {"storage", storage}};
  for (const auto& part : accelerator_->memory()) parts.push_back(part);
  for (const auto& [name, value] : parts) {
    bytes(name, value);
    all += value;
  }
  bytes("stated", all);
  bytes("process_growth", memory_.growth_bytes());
  bytes("process_growth_peak", memory_.peak_growth_bytes());
  const FlashCounts& counts = reader_->counts();
  for (const auto& [name, count] :
       {std::pair{"requests", counts.requests}, std::pair{"read_errors", counts.errors},
        std::pair{"short_reads", counts.short_reads}, std::pair{"read_retries", counts.retries},
        std::pair{"checksum_failures", counts.checksum_failures}}) {
    facts.emplace_back(name, std::to_string(count));
  }
  facts.emplace_back("scheduler_thread_cpu_s",
                     fmt::format("{:.6f}", thread_cpu_s() - cpu_before_s_));
  return facts;
}

namespace {

[[maybe_unused]] const bool kRegistered = backend::register_world(
    "hardware", "real devices: a flash image is read, and what is read is multiplied",
    [](const backend::WorldSpec& spec) -> std::unique_ptr<backend::Backend> {
      return std::make_unique<World>(spec);
    },
    backend::NeedsLog::no, check_run);

}  // namespace

}  // namespace leanstream::hardware
