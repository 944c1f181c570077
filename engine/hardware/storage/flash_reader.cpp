#include "engine/hardware/storage/flash_reader.h"

#include <algorithm>
#include <cerrno>

#include "engine/base/check.h"
#include "engine/base/hash.h"

namespace leanstream::hardware {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Status;

namespace {

constexpr std::int32_t kMostRetries = 8;     // of one request
constexpr std::uint32_t kMostPieces = 1024;  // IOV_MAX

}  // namespace

// One line of the cache: when a request ends after others' milliseconds it is in none.
struct alignas(64) FlashReader::Request {
  std::uint32_t first = 0;  // of the command's blocks
  std::uint32_t blocks = 0;
  std::uint32_t piece = 0;      // the first that is not full
  std::uint32_t piece_end = 0;  // after its last
  Bytes done_bytes = 0;
  Bytes asked_bytes = 0;       // of what the system has now
  std::uint32_t bad_from = 0;  // blocks from here on are not there, of `blocks`
  std::int32_t retries = 0;
  TimeNs latency_ns = 0;
  bool begun = false;
};

struct FlashReader::Read {
  Command command;
  std::vector<Request> requests;
  std::vector<iovec> pieces;
  std::size_t open = 0;  // requests that have not ended
  Status status = Status::ok;
  std::vector<BlockId> not_read;
  std::vector<BlockId> wrong;  // whose checksum differs
  std::vector<TimeNs> request_ns;
};

FlashReader::FlashReader(const FlashReaderSpec& spec)
    : spec_(spec), alignment_bytes_(spec.storage->alignment_bytes()) {
  LEANSTREAM_CHECK(spec.block_bytes > 0 && spec.block_bytes % alignment_bytes_ == 0 &&
                       spec.data_offset % alignment_bytes_ == 0,
                   "blocks of {} bytes from {} on are not aligned to {}", spec.block_bytes,
                   spec.data_offset, alignment_bytes_);
}

FlashReader::~FlashReader() = default;

std::size_t FlashReader::position(TicketId ticket) const {
  const auto at = std::ranges::lower_bound(under_way_, ticket, {},
                                           [](const Read* read) { return read->command.ticket; });
  return static_cast<std::size_t>(at - under_way_.begin());
}

void FlashReader::submit(const Command& command) {
  if (command.kind == CommandKind::cancel) {
    flush();
    const std::uint64_t last = request_id(command.target + 1, 0) - 1;
    spec_.storage->cancel(request_id(command.target, 0), last);
    ended_.push_back({.ticket = command.ticket});
    return;
  }
  LEANSTREAM_CHECK(command.kind == CommandKind::read, "the flash was given a {} command",
                   name_of(command.kind));
  LEANSTREAM_CHECK(under_way_.empty() || under_way_.back()->command.ticket < command.ticket,
                   "ticket {} is not above the one before", command.ticket);
  if (free_.empty()) {
    all_.push_back(std::make_unique<Read>());
    free_.push_back(all_.back().get());
  }
  Read& read = *free_.back();
  free_.pop_back();
  read.command = command;
  prepare(read);
  under_way_.push_back(&read);
  for (std::size_t i = 0; i < read.requests.size(); ++i) ask(read, i);
}

void FlashReader::flush() {
  if (batch_.empty()) return;
  spec_.storage->submit(batch_);
  batch_.clear();
}

void FlashReader::prepare(Read& read) {
  const Command& command = read.command;
  LEANSTREAM_CHECK(!command.blocks.empty() && command.blocks.size() == command.slots.size(),
                   "read {} of {} blocks into {} slots", command.ticket, command.blocks.size(),
                   command.slots.size());
  read.requests.clear();
  read.pieces.clear();
  read.not_read.clear();
  read.wrong.clear();
  read.request_ns.clear();
  read.status = Status::ok;
  for_each_request(command, [&](std::size_t first, std::size_t count) {
    const auto piece = static_cast<std::uint32_t>(read.pieces.size());
    join_pieces(read, first, count);
    const auto blocks = static_cast<std::uint32_t>(count);
    read.requests.push_back({.first = static_cast<std::uint32_t>(first),
                             .blocks = blocks,
                             .piece = piece,
                             .piece_end = static_cast<std::uint32_t>(read.pieces.size()),
                             .bad_from = blocks});
  });
  read.open = read.requests.size();
  LEANSTREAM_CHECK(read.open < (std::size_t{1} << kRequestBits), "read {} of {} requests",
                   command.ticket, read.open);
}

// Slots that follow each other in memory are one piece.
void FlashReader::join_pieces(Read& read, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    const Bytes at = static_cast<Bytes>(read.command.slots[i]) * spec_.block_bytes;
    LEANSTREAM_CHECK(read.command.slots[i] >= 0 && at + spec_.block_bytes <= spec_.arena.size(),
                     "slot {} lies outside the arena", read.command.slots[i]);
    if (i > first && read.command.slots[i] == read.command.slots[i - 1] + 1) {
      read.pieces.back().iov_len += spec_.block_bytes;
    } else {
      read.pieces.push_back({spec_.arena.data() + at, spec_.block_bytes});
    }
  }
}

Bytes FlashReader::memory_bytes() const {
  Bytes bytes = 0;
  for (const auto& read : all_) {
    bytes += sizeof(Read) + read->requests.capacity() * sizeof(Request) +
             read->pieces.capacity() * sizeof(iovec) +
             (read->not_read.capacity() + read->wrong.capacity()) * sizeof(BlockId) +
             read->request_ns.capacity() * sizeof(TimeNs);
  }
  return bytes + batch_.capacity() * sizeof(StorageRequest) +
         results_.capacity() * sizeof(StorageResult);
}

void FlashReader::ask(Read& read, std::size_t index) {
  Request& request = read.requests[index];
  const std::uint32_t count = std::min(request.piece_end - request.piece, kMostPieces);
  const std::span<const iovec> into = std::span(read.pieces).subspan(request.piece, count);
  request.asked_bytes = 0;
  for (const iovec& piece : into) request.asked_bytes += piece.iov_len;
  const auto layer = static_cast<Bytes>(read.command.layer);
  const auto block = static_cast<Bytes>(read.command.blocks[request.first]);
  const Bytes index_of_block = layer * static_cast<Bytes>(spec_.blocks_per_layer) + block;
  batch_.push_back(
      {.id = request_id(read.command.ticket, index),
       .lane = read.command.lane,
       .offset_bytes = spec_.data_offset + index_of_block * spec_.block_bytes + request.done_bytes,
       .into = into});
}

void FlashReader::poll(std::vector<FlashEnded>& out) {
  free_.insert(free_.end(), lent_.begin(), lent_.end());
  lent_.clear();
  results_.clear();
  spec_.storage->poll(results_);
  for (const StorageResult& result : results_) take(result);
  flush();
  out.insert(out.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void FlashReader::take(const StorageResult& result) {
  const std::size_t at = position(ticket_of(result.id));
  LEANSTREAM_CHECK(at < under_way_.size() &&
                       under_way_[at]->command.ticket == ticket_of(result.id) &&
                       request_of(result.id) < under_way_[at]->requests.size(),
                   "a result for request {} of ticket {}, which is not under way",
                   request_of(result.id), ticket_of(result.id));
  Read& read = *under_way_[at];
  const auto index = static_cast<std::size_t>(request_of(result.id));
  Request& request = read.requests[index];
  request.latency_ns += result.latency_ns;
  request.begun |= result.result != -ECANCELED;
  if (goes_on(read, request, result.result)) {
    ask(read, index);
    return;
  }
  LEANSTREAM_CHECK(read.open > 0, "read {} ended twice", read.command.ticket);
  if (--read.open > 0) return;
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(at));
  finish(read);
}

bool FlashReader::goes_on(Read& read, Request& request, std::int64_t result) {
  if (result == -ECANCELED) {
    read.status = Status::cancelled;
    request.bad_from = static_cast<std::uint32_t>(request.done_bytes / spec_.block_bytes);
    return false;
  }
  const bool again = result == -EAGAIN || result == -EINTR;
  Bytes got = result > 0 ? static_cast<Bytes>(result) : 0;
  LEANSTREAM_CHECK(got <= request.asked_bytes, "{} bytes were read of {}", got,
                   request.asked_bytes);
  const bool all = got == request.asked_bytes;
  // The rest is asked for from a logical block on.
  if (!all) got -= got % alignment_bytes_;
  request.done_bytes += got;
  if (all) {
    request.piece = std::min(request.piece_end, request.piece + kMostPieces);
  } else {
    fill(read, request, got);
  }
  if (request.piece == request.piece_end) {
    if (!spec_.checksums.empty()) check_blocks(read, request);
    return false;
  }
  if (all) return true;  // more pieces than the system takes at once
  if (result > 0) ++counts_.short_reads;
  if ((again || result > 0) && request.retries < kMostRetries) {
    ++request.retries;
    ++counts_.retries;
    return true;
  }
  ++counts_.errors;
  if (read.status == Status::ok) read.status = Status::error;
  request.bad_from = static_cast<std::uint32_t>(request.done_bytes / spec_.block_bytes);
  return false;
}

// Its next pieces begin behind as many bytes.
void FlashReader::fill(Read& read, Request& request, Bytes bytes) {
  while (bytes > 0) {
    iovec& piece = read.pieces[request.piece];
    const Bytes part = std::min<Bytes>(bytes, piece.iov_len);
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
    piece.iov_len -= part;
    bytes -= part;
    if (piece.iov_len == 0) ++request.piece;
  }
}

void FlashReader::check_blocks(Read& read, const Request& request) {
  for (std::size_t i = request.first; i < request.first + request.blocks; ++i) {
    const auto layer = static_cast<std::size_t>(read.command.layer);
    const auto block = static_cast<std::size_t>(read.command.blocks[i]);
    const auto slot = static_cast<std::size_t>(read.command.slots[i]);
    const auto bytes = spec_.arena.subspan(slot * spec_.block_bytes, spec_.block_bytes);
    const std::size_t index = layer * static_cast<std::size_t>(spec_.blocks_per_layer) + block;
    if (hash64(bytes) == spec_.checksums[index]) continue;
    ++counts_.checksum_failures;
    read.wrong.push_back(read.command.blocks[i]);
    if (read.status == Status::ok) read.status = Status::error;
  }
}

void FlashReader::finish(Read& read) {
  const auto blocks = read.command.blocks;
  for (const Request& request : read.requests) {
    if (request.begun) read.request_ns.push_back(request.latency_ns), ++counts_.requests;
    if (read.status == Status::ok) continue;
    const auto bad =
        blocks.subspan(request.first + request.bad_from, request.blocks - request.bad_from);
    read.not_read.insert(read.not_read.end(), bad.begin(), bad.end());
  }
  read.not_read.insert(read.not_read.end(), read.wrong.begin(), read.wrong.end());
  ended_.push_back({read.command.ticket, read.status, read.not_read, read.request_ns});
  lent_.push_back(&read);
}

}  // namespace leanstream::hardware
