#include "engine/hardware/storage/reader_loop.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "engine/hardware/storage/image_file.h"

namespace leanstream::hardware {

namespace {

constexpr Bytes kArenaBytes = Bytes{64} << 20;

// As large as makes it one of huge pages and larger than caches, as that of a run is.
Bytes arena_bytes(const LoopSpec& spec, std::size_t most_pieces) {
  const Bytes under_way = spec.read_bytes * most_pieces * static_cast<Bytes>(spec.depth);
  const Bytes bytes = std::max(kArenaBytes, 4 * under_way);
  return bytes / spec.read_bytes * spec.read_bytes;
}

}  // namespace

ReaderLoop::ReaderLoop(const LoopSpec& spec, const std::string& engine,
                       std::vector<std::int32_t> pieces)
    : spec_(spec),
      pieces_(std::move(pieces)),
      most_pieces_(static_cast<std::size_t>(*std::ranges::max_element(pieces_))),
      blocks_(ImageFile(spec.path).size_bytes() / spec.read_bytes),
      memory_(aligned_memory(arena_bytes(spec, most_pieces_), 4096)),
      arena_(memory_.get(), arena_bytes(spec, most_pieces_)),
      storage_(open_storage(
          {.path = spec.path, .engine = engine, .depth = spec.depth, .arena = arena_})),
      reader_({.storage = storage_.get(),
               .block_bytes = spec.read_bytes,
               .blocks_per_layer = static_cast<std::int32_t>(blocks_),
               .arena = arena_}),
      reads_(depth()),
      random_(spec.seed, "bench.storage") {}

LoopResult ReaderLoop::run() {
  using Clock = std::chrono::steady_clock;
  const double cpu_s = thread_cpu_s();
  const auto from = Clock::now();
  const auto end = from + std::chrono::duration<double>(spec_.seconds);
  for (std::size_t i = 0; i < reads_.size(); ++i) post(i);
  reader_.flush();
  std::vector<FlashEnded> ended;
  auto now = from;
  for (std::size_t under_way = reads_.size(); under_way > 0;) {
    storage_->wait(kNever);
    ended.clear();
    reader_.poll(ended);
    const auto seen = Clock::now();
    if (!ended.empty()) result_.gap_ns.push_back((seen - std::exchange(now, seen)).count());
    for (const FlashEnded& e : ended) {
      check(e);
      result_.latency_ns.push_back(e.request_ns[0]);
      if (now < end) {
        post(place_of(e.ticket));
      } else {
        --under_way;
      }
    }
    reader_.flush();
  }
  result_.reads = static_cast<std::int64_t>(result_.latency_ns.size());
  result_.wall_s = std::chrono::duration<double>(now - from).count();
  result_.cpu_s = thread_cpu_s() - cpu_s;
  return std::move(result_);
}

LoopResult ReaderLoop::run_bursts(std::int32_t count, const std::function<void()>& between) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(spec_.seconds);
  std::vector<FlashEnded> ended;
  do {
    between();
    const double cpu_s = thread_cpu_s();
    const auto from = Clock::now();
    submit(reads_[0], count);
    reader_.flush();
    for (ended.clear(); ended.empty();) {
      storage_->wait(kNever);
      reader_.poll(ended);
      reader_.flush();
    }
    result_.latency_ns.push_back((Clock::now() - from).count());
    result_.cpu_s += thread_cpu_s() - cpu_s;
    check(ended[0]);
    result_.reads += count;
    result_.wall_s += seconds(result_.latency_ns.back());
  } while (Clock::now() < end);
  return std::move(result_);
}

void ReaderLoop::check(const FlashEnded& ended) const {
  if (ended.status == scheduler::Status::ok) return;
  throw UserError("{} could not be read at block {} of {} bytes", spec_.path, ended.not_read[0],
                  spec_.read_bytes);
}

std::size_t ReaderLoop::place_of(TicketId ticket) const {
  const auto at = std::ranges::find(reads_, ticket, &Read::ticket);
  return static_cast<std::size_t>(at - reads_.begin());
}

// Every other one, then those in between: no two neighbours for a request.
SlotId ReaderLoop::next_slot() {
  const auto slots = static_cast<SlotId>(arena_.size() / spec_.read_bytes);
  const SlotId slot = next_slot_;
  next_slot_ += 2;
  if (next_slot_ >= slots) next_slot_ = 1 - next_slot_ % 2;
  return slot;
}

void ReaderLoop::post(std::size_t place) {
  submit(reads_[place], 1);
}

// Of one command; no request continues the one before.
void ReaderLoop::submit(Read& read, std::int32_t requests) {
  read.ticket = ++last_ticket_;
  read.blocks.clear();
  read.slots.clear();
  for (std::int32_t r = 0; r < requests; ++r) {
    const auto pieces =
        pieces_.size() == 1 ? pieces_[0] : pieces_[random_.next_below(pieces_.size())];
    const auto count = static_cast<std::size_t>(pieces);
    auto first = static_cast<BlockId>(random_.next_below(blocks_ - count + 1));
    if (r > 0 && first == read.blocks.back() + 1) first = 0;
    for (std::size_t i = 0; i < count; ++i) {
      read.blocks.push_back(first + static_cast<BlockId>(i));
      read.slots.push_back(next_slot());
    }
  }
  reader_.submit({.ticket = read.ticket,
                  .layer = 0,
                  .merge_blocks = spec_.apart ? 1 : static_cast<std::int32_t>(most_pieces_),
                  .blocks = read.blocks,
                  .slots = read.slots});
}

}  // namespace leanstream::hardware
