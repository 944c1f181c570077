#include "engine/hardware/accelerator/cpu_accelerator.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/hardware/accelerator/registry.h"
#include "engine/hardware/storage/processors.h"

namespace leanstream::hardware {
namespace {

using backend::Synchronisation;
using scheduler::Command;
using scheduler::CommandKind;

constexpr std::size_t kWindowOfThread = 8;  // parts that may be ahead of the oldest

// Looking for the next command is cheap where a processor is to spare; where not, whoever submits
// needs it.
Patience patience_of(const AcceleratorSpec& spec) {
  const bool spare = static_cast<unsigned>(spec.threads) < std::thread::hardware_concurrency();
  Patience patience{.for_tasks_ns = spare ? 50'000 : 5'000, .for_others_ns = 20'000};
  if (spec.synchronisation == Synchronisation::device) patience.for_tasks_ns = 0;
  return patience;
}

// A layer's commands, and a head with the likelihood of a whole prompt.
std::size_t most_tasks(const AcceleratorSpec& spec) {
  return 256 + static_cast<std::size_t>(spec.geometry.blocks_per_layer) +
         static_cast<std::size_t>(spec.tokens);
}

std::size_t window_of(const AcceleratorSpec& spec) {
  return kWindowOfThread * static_cast<std::size_t>(spec.threads);
}

AcceleratorSpec checked(AcceleratorSpec spec) {
  LEANSTREAM_CHECK(spec.decoder != nullptr && spec.threads >= 1 && spec.tokens >= 1,
                   "{} threads, {} tokens", spec.threads, spec.tokens);
  LEANSTREAM_CHECK(spec.layout.hidden == spec.decoder->shape.hidden &&
                       spec.geometry.ffn == spec.decoder->shape.ffn &&
                       spec.layout.block_neurons == spec.geometry.block_neurons &&
                       spec.layout.bytes() <= spec.geometry.block_bytes,
                   "blocks of {} neurons, {} bytes, for a model of {} × {}",
                   spec.geometry.block_neurons, spec.geometry.block_bytes,
                   spec.decoder->shape.hidden, spec.decoder->shape.ffn);
  return spec;
}

}  // namespace

CpuAccelerator::CpuAccelerator(AcceleratorSpec spec)
    : spec_(checked(std::move(spec))),
      pass_(spec_, window_of(spec_)),
      steps_(most_tasks(spec_)),
      queue_(most_tasks(spec_), window_of(spec_), patience_of(spec_), *this),
      released_(spec_.geometry.blocks_per_layer) {
  for (int worker = 0; worker < spec_.threads; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

CpuAccelerator::~CpuAccelerator() {
  queue_.stop();
  for (std::thread& thread : threads_) thread.join();
}

void CpuAccelerator::submit(const Command& command) {
  check_order(command);
  if (command.kind == CommandKind::release) check_blocks(command);
  cuts_.clear();
  pass_.cut(command, last_.tokens, cuts_);
  const bool launches = spec_.synchronisation == Synchronisation::device;
  for (const ForwardPass::Cut& cut : cuts_) {
    const bool joins = cut.job.phase == Phase::blocks && !launches;
    const TaskId task =
        queue_.add(cut.parts, joins ? opened_ : queue_.added(), launches && &cut == &cuts_.front());
    step_of(task) = {cut.job, {.ticket = command.ticket}};
  }
  if (command.kind == CommandKind::begin_layer) opened_ = queue_.added();
  if (spec_.synchronisation == Synchronisation::polling) {
    const bool open =
        command.kind == CommandKind::begin_layer || command.kind == CommandKind::release;
    queue_.set_task_patience(open ? kNever : patience_of(spec_).for_tasks_ns);
  }
  last_ = command;
  queue_.publish();
}

// attention, begin_layer, release …, end_layer; after the last layer head.
void CpuAccelerator::check_order(const Command& command) {
  const bool same_layer = command.layer == last_.layer && command.tokens == last_.tokens;
  const bool first = last_.ticket == 0;
  bool right = false;
  switch (command.kind) {
    case CommandKind::attention:
      right = first || last_.kind == CommandKind::end_layer || last_.kind == CommandKind::head;
      LEANSTREAM_CHECK(command.token + command.tokens <= spec_.tokens, "token {} of {}",
                       command.token + command.tokens, spec_.tokens);
      LEANSTREAM_CHECK(
          command.token > 0 || static_cast<std::size_t>(command.tokens) <= spec_.feed.ids.size(),
          "a prompt of {} tokens, of which {} are given", command.tokens, spec_.feed.ids.size());
      break;
    case CommandKind::begin_layer:
      right = last_.kind == CommandKind::attention && same_layer;
      released_.clear();
      break;
    case CommandKind::release:
    case CommandKind::end_layer:
      right = (last_.kind == CommandKind::begin_layer || last_.kind == CommandKind::release) &&
              same_layer;
      break;
    default:
      right = last_.kind == CommandKind::end_layer;
  }
  LEANSTREAM_CHECK(right && command.ticket > last_.ticket, "{} of layer {} after {} of layer {}",
                   name_of(command.kind), command.layer, name_of(last_.kind), last_.layer);
}

// A block is computed where it is released, once.
void CpuAccelerator::check_blocks(const Command& release) {
  LEANSTREAM_CHECK(!release.blocks.empty() && release.blocks.size() == release.slots.size(),
                   "{} blocks in {} slots", release.blocks.size(), release.slots.size());
  const auto slots = static_cast<SlotId>(spec_.arena.size() / spec_.geometry.block_bytes);
  for (std::size_t i = 0; i < release.blocks.size(); ++i) {
    const BlockId b = release.blocks[i];
    const SlotId s = release.slots[i];
    LEANSTREAM_CHECK(b >= 0 && b < released_.size() && !released_.test(b) && s >= 0 && s < slots,
                     "block {} of layer {} released in slot {}", b, release.layer, s);
    released_.set(b);
  }
}

void CpuAccelerator::poll(std::vector<Ended>& out) {
  for (const TaskId ended = queue_.ended(); polled_ < ended; ++polled_) {
    const Step& step = step_of(polled_);
    if (step.job.last) out.push_back(step.ended);
  }
  queue_.release(polled_);
}

void CpuAccelerator::serve(int worker) {
  if (!spec_.processors.empty()) keep_to(spec_.processors);
  Part part;
  while (queue_.take(part)) {
    part.begin_ns = steady_ns();
    pass_.compute(step_of(part.task).job, part.index, queue_.place_of_part(part.number), worker);
    part.end_ns = steady_ns();
    queue_.done(part);
  }
}

// Work is the time in which at least one thread computes; parts begin about in their order, so what
// overlaps with earlier ones is theirs.
void CpuAccelerator::retire(const Part& part) {
  Step& step = step_of(part.task);
  if (step.job.phase == Phase::blocks) {
    pass_.add(step.job, part.index, queue_.place_of_part(part.number));
  }
  const TimeNs from = std::max(part.begin_ns, worked_until_ns_);
  work_ns_ += std::max<TimeNs>(0, part.end_ns - from);
  worked_until_ns_ = std::max(worked_until_ns_, part.end_ns);
  if (!part.last || !step.job.last) return;
  pass_.answer(step.job, step.ended);
  step.ended.work_ns = std::exchange(work_ns_, 0);
  answered_ |= is_waited_for(part.task);
}

// Nobody waits for the opening of a layer, nor for a release behind which the layer's end is at
// once: whoever submits them sleeps on, and sees them with what ends next.
bool CpuAccelerator::is_waited_for(TaskId task) {
  switch (step_of(task).job.phase) {
    case Phase::open_mlp:
      return false;
    case Phase::blocks:
      return !queue_.is_published(task + 1) || step_of(task + 1).job.phase != Phase::close_layer;
    default:
      return true;
  }
}

void CpuAccelerator::ended() {
  if (std::exchange(answered_, false) && spec_.wake) spec_.wake();
}

namespace {

[[maybe_unused]] const bool kRegistered = register_accelerator(
    "cpu", "threads on the machine's processors", [](const AcceleratorSpec& spec) {
      return std::unique_ptr<Accelerator>(std::make_unique<CpuAccelerator>(spec));
    });

}  // namespace

}  // namespace leanstream::hardware
