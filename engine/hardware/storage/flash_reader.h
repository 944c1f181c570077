// Carries out the scheduler's flash commands, read and cancel, on a Storage.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/hardware/storage/storage.h"
#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"

namespace leanstream::hardware {

// A device request is named by its read and its place in it, so that a fault plan can decide about
// it as in simulation. Tickets stay below 2^44.
inline constexpr int kRequestBits = 20;
constexpr std::uint64_t request_id(TicketId ticket, std::uint64_t request) {
  return ticket << kRequestBits | request;
}
constexpr TicketId ticket_of(std::uint64_t id) {
  return id >> kRequestBits;
}
constexpr std::uint64_t request_of(std::uint64_t id) {
  return id & ((std::uint64_t{1} << kRequestBits) - 1);
}

// Block b of layer l lies at data_offset + (l · blocks_per_layer + b) · block_bytes of the image.
struct FlashReaderSpec {
  Storage* storage = nullptr;  // outlives the reader
  Bytes data_offset = 0;
  Bytes block_bytes = 0;
  std::int32_t blocks_per_layer = 0;
  std::span<std::byte> arena{};  // slot s starts at s · block_bytes
  // XXH3-64 of each block in the image's order (engine/base/hash.h), compared with what was read;
  // empty: no check.
  std::span<const std::uint64_t> checksums{};
};

// An answer to a command. Spans are valid until the next poll.
struct FlashEnded {
  TicketId ticket = 0;
  scheduler::Status status = scheduler::Status::ok;  // ok, error, cancelled
  std::span<const BlockId> not_read{};
  std::span<const TimeNs> request_ns{};  // of each request that the device began
};

// What went wrong so far, however it ended.
struct FlashCounts {
  std::int64_t requests = 0;           // that the device began
  std::int64_t errors = 0;             // requests that ended with a device's error, or past the end
  std::int64_t short_reads = 0;        // answers with fewer bytes than were asked for
  std::int64_t retries = 0;            // requests asked again, for the rest or after EAGAIN
  std::int64_t checksum_failures = 0;  // blocks
};

class FlashReader {
 public:
  explicit FlashReader(const FlashReaderSpec& spec);
  ~FlashReader();

  // Takes a read or a cancel over. Tickets rise; a command's spans stay until it has ended.
  void submit(const scheduler::Command& command);
  // Submits the reads so far to the storage: one call for a batch of commands.
  void flush();

  // Appends what has ended since the last call. Each command ends once; a cancel takes no time.
  void poll(std::vector<FlashEnded>& out);

  bool idle() const { return under_way_.empty() && ended_.empty(); }
  const FlashCounts& counts() const { return counts_; }
  Bytes memory_bytes() const;  // lists of reads under way; they stay as long as the longest were

 private:
  struct Request;
  struct Read;

  void prepare(Read& read);
  void join_pieces(Read& read, std::size_t first, std::size_t count);
  // The next part of a request, of as many pieces as the system takes at once.
  void ask(Read& read, std::size_t request);
  void take(const StorageResult& result);
  // Whether the request goes on; it is asked again then.
  bool goes_on(Read& read, Request& request, std::int64_t result);
  static void fill(Read& read, Request& request, Bytes bytes);
  void check_blocks(Read& read, const Request& request);
  void finish(Read& read);
  std::size_t position(TicketId ticket) const;

  FlashReaderSpec spec_;
  Bytes alignment_bytes_;
  std::vector<std::unique_ptr<Read>> all_;
  std::vector<Read*> free_;
  std::vector<Read*> under_way_;  // by ticket
  std::vector<Read*> lent_;       // reported by the last poll
  std::vector<FlashEnded> ended_;
  std::vector<StorageRequest> batch_;
  std::vector<StorageResult> results_;
  FlashCounts counts_;
};

}  // namespace leanstream::hardware
