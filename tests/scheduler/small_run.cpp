#include "tests/scheduler/small_run.h"

#include <algorithm>
#include <optional>

#include "engine/backend/run_loop.h"
#include "engine/scheduler/future_sets.h"

namespace leanstream::scheduler {

VirtualWorld::Unit VirtualWorld::unit_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::read:
      return flash;
    case CommandKind::predict:
      return processor;
    case CommandKind::cancel:
      return none;
    default:
      return accelerator;
  }
}

TimeNs VirtualWorld::duration(const Command& c) const {
  const auto blocks = static_cast<TimeNs>(c.blocks.size());
  switch (c.kind) {
    case CommandKind::read:
      return costs_.read + blocks * costs_.read_block;
    case CommandKind::attention:
      return costs_.attention;
    case CommandKind::release:
      return blocks * costs_.block;
    case CommandKind::head:
      return costs_.head;
    case CommandKind::predict:
      return costs_.prediction;
    default:
      return 0;
  }
}

void VirtualWorld::submit(std::span<const Command> commands) {
  for (const Command& c : commands) {
    transcript.push_back(describe(c));
    submitted_ns.push_back(now_);
    const Unit unit = unit_of(c.kind);
    const TimeNs begin = unit == none ? now_ : std::max(now_, free_at_[unit]);
    const TimeNs end = free_at_[unit] = begin + duration(c);
    running_.push_back({c, begin, end, c.blocks.size()});
    blocks_read += c.kind == CommandKind::read ? static_cast<std::int64_t>(c.blocks.size()) : 0;
    if (c.kind == CommandKind::cancel) take_back(c.target);
  }
}

// Of a read, the requests that the device has not begun; those behind it move up.
void VirtualWorld::take_back(TicketId read) {
  const auto target = std::find_if(running_.begin(), running_.end(),
                                   [&](const Running& r) { return r.command.ticket == read; });
  if (target == running_.end()) return;
  std::size_t kept = 0;
  TimeNs end = target->begin + costs_.read;
  TimeNs begin = target->begin;
  for_each_request(target->command, [&](std::size_t, std::size_t n) {
    if (begin > now_) return;
    kept += n;
    begin = end += static_cast<TimeNs>(n) * costs_.read_block;
  });
  if (kept == target->blocks) return;
  blocks_read -= static_cast<std::int64_t>(target->blocks - kept);
  target->blocks = kept;
  target->end = kept == 0 ? now_ : end;
  std::vector<Running*> behind;
  TimeNs free_at = target->end;
  for (Running& r : running_) {
    if (unit_of(r.command.kind) != flash) continue;
    if (r.command.ticket > read) behind.push_back(&r);
    if (r.command.ticket < read) free_at = std::max(free_at, r.end);
  }
  std::sort(behind.begin(), behind.end(), [](const Running* a, const Running* b) {
    return a->command.ticket < b->command.ticket;
  });
  for (Running* r : behind) {
    const TimeNs takes = r->end - r->begin;
    r->begin = free_at;
    free_at = r->end = r->begin + takes;
  }
  free_at_[flash] = free_at;
}

std::span<const Completion> VirtualWorld::wait(TimeNs deadline) {
  batch_.clear();
  std::sort(running_.begin(), running_.end(), [](const Running& a, const Running& b) {
    return std::pair(a.end, a.command.ticket) < std::pair(b.end, b.command.ticket);
  });
  if (running_.empty() || running_.front().end > deadline) {
    now_ = deadline;
    batch_.push_back({.time_ns = now_, .status = Status::timed_out});
    return batch_;
  }
  now_ = running_.front().end;
  scores_.clear(), not_read_.clear(), request_ns_.clear();
  while (!running_.empty() && running_.front().end == now_) {
    batch_.push_back(complete(running_.front()));
    running_.erase(running_.begin());
  }
  return batch_;
}

Completion VirtualWorld::complete(const Running& r) {
  const Command& c = r.command;
  Completion done{.ticket = c.ticket, .time_ns = now_};
  if (unit_of(c.kind) == accelerator) done.work_ns = duration(c);
  if (c.kind == CommandKind::predict) {
    auto& codes = scores_.emplace_back(static_cast<std::size_t>(ffn_));
    predictor_.predict(c.token, c.layer, c.feature, codes);
    done.scores = codes;
  }
  if (c.kind == CommandKind::read) {
    const auto back = c.blocks.subspan(r.blocks);
    auto& lost = not_read_.emplace_back(back.begin(), back.end());
    if (unreadable) {
      const auto failed = unreadable(c.ticket, c.blocks.first(r.blocks));
      lost.insert(lost.end(), failed.begin(), failed.end());
    }
    if (!lost.empty()) done.status = back.empty() ? Status::error : Status::cancelled;
    done.not_read = lost;
    auto& latencies = request_ns_.emplace_back();
    for_each_request(c, [&](std::size_t first, std::size_t n) {
      if (first >= r.blocks) return;
      const TimeNs ns = static_cast<TimeNs>(n) * costs_.read_block;
      latencies.push_back(first == 0 ? costs_.read + ns : ns);
    });
    done.request_ns = latencies;
  }
  if (computes) computes(c, done);
  if (c.ticket == fail_ticket) done.status = Status::failed;
  return done;
}

// "read L1 t2 3>0 4>1" (block>slot), "read L1 t2 lane1 merge8 3>0", "release L0 t2 s0 3>0",
// "predict L1 t2 f8", "attention L0 t0-3" (a prompt), "cancel L1 t2 3>0" (of that read).
std::string VirtualWorld::describe(const Command& c) const {
  std::string text = name_of(c.kind);
  if (c.layer != kNone) text += fmt::format(" L{}", c.layer);
  text += fmt::format(" t{}", c.token);
  if (c.tokens > 1) text += fmt::format("-{}", c.token + c.tokens - 1);
  if (c.kind == CommandKind::predict) text += fmt::format(" f{}", c.feature);
  if (c.kind == CommandKind::release) text += fmt::format(" s{}", c.segment);
  if (c.lane > 0) text += fmt::format(" lane{}", c.lane);
  if (c.merge_blocks > 1) text += fmt::format(" merge{}", c.merge_blocks);
  const Command* of = &c;
  for (const Running& r : running_) {
    if (c.kind == CommandKind::cancel && r.command.ticket == c.target) of = &r.command;
  }
  for (std::size_t i = 0; i < of->blocks.size(); ++i) {
    text += fmt::format(" {}>{}", of->blocks[i], of->slots[i]);
  }
  return text;
}

RunSpec SmallRun::spec() const {
  model::ModelShape shape;
  shape.layers = layers;
  shape.hidden = 64;
  shape.ffn = ffn;
  RunSpec spec = *this;
  spec.geometry = model::cut_into_blocks(shape, block_neurons, 512);
  return spec;
}

void SmallRun::run() {
  std::optional<VirtualWorld> world;
  run_in([&](const policy::Predictor& made) -> backend::Backend& {
    world.emplace(costs, made, ffn);
    world->fail_ticket = fail_ticket;
    world->unreadable = unreadable;
    world->computes = computes;
    return *world;
  });
  transcript = world->transcript;
  submitted_ns = world->submitted_ns;
  blocks_read = world->blocks_read;
}

void SmallRun::run_in(const std::function<backend::Backend&(const policy::Predictor&)>& world) {
  if (!activations) activations = std::make_shared<SmallActivations>(tokens, layers, ffn, seed);
  const auto f =
      make_policy<policy::Placement>(placed, {activations.get(), prompt_tokens, density});
  RunSpec s = spec();
  s.placement = f.get();
  std::shared_ptr<policy::Predictor> p = predictions;
  if (!p) p = make_policy<policy::Predictor>(predictor, {activations.get(), seed});
  const auto k = make_policy<policy::Controller>(
      controller, {layers, s.geometry.blocks_per_layer, s.geometry.block_neurons, sequence});
  const auto l =
      make_policy<policy::Loader>(loader, {s.geometry.block_bytes, 4 * s.geometry.block_bytes});
  const FutureSets future(s, {p.get(), nullptr, k.get(), l.get(), activations.get()});
  const auto c = make_policy<policy::CachePolicy>(
      cache, {layers, s.geometry.blocks_per_layer, slots, prompt_tokens, &future});
  Scheduler scheduler(s, {p.get(), c.get(), k.get(), l.get(), activations.get()});
  backend::run(scheduler, world(*p));
  final_sets.assign(scheduler.final_sets().begin(), scheduler.final_sets().end());
  failure = scheduler.failure();
  hash = scheduler.commands_hash();
  metrics = scheduler.metrics();
}

}  // namespace leanstream::scheduler
